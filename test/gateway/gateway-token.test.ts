import { describe, expect, it } from 'vitest';
import { ask } from './client.ts';
import { gateway, modelServer, OPENAI } from './fixture.ts';

const KEY = 'sk-canary-0123456789abcdef';

async function open(token: string) {
  const model = await modelServer([{ say: 'hello' }, { say: 'hello' }, { say: 'hello' }]);
  const gate = await gateway({
    model: { ...OPENAI, gatewayToken: token, mode: 'live', baseUrl: model.url, providerKeys: [KEY], cassette: '' },
  });
  return { model, gate };
}

const bearer = (token: string) => ({ authorization: `Bearer ${token}` });

describe('the token of an attempt', () => {
  it('is required: a missing, wrong or foreign token is refused before the provider receives the request', async () => {
    const [a, b] = [await open('token-a'), await open('token-b')];
    expect((await ask(a.gate.socket, { headers: bearer('token-a') })).status).toBe(200);
    for (const headers of [
      bearer('token-a'),
      bearer('token-bb'),
      bearer('Token-b'),
      bearer(''),
      { authorization: 'Basic token-b' },
      { authorization: 'token-b' },
      { authorization: '' },
    ]) {
      const answer = await ask(b.gate.socket, { headers });
      expect([headers, answer.status]).toEqual([headers, 401]);
      expect(answer.body).toContain('HALO_MODEL_KEY');
    }
    expect(b.model.requests).toEqual([]);
    expect(b.gate.requests().every(({ outcome }) => outcome === 'refused')).toBe(true);
    expect(b.gate.problem()?.sentence).toContain('token of its attempt');
  });

  it.each(['x-api-key', 'x-goog-api-key'])('may be sent as %s, and never reaches the provider', async (name) => {
    const { model, gate } = await open('token-a');
    const headers = { authorization: 'Bearer foreign', [name]: 'token-a' };
    expect((await ask(gate.socket, { headers })).status).toBe(200);
    expect(JSON.stringify(model.requests)).not.toMatch(/token-a|foreign/);
  });

  it('is invalid after the end of the attempt', async () => {
    const { gate } = await open('token-a');
    expect((await ask(gate.socket, { headers: bearer('token-a') })).status).toBe(200);
    await gate.close();
    await expect(ask(gate.socket, { headers: bearer('token-a') })).rejects.toThrow('ENOENT');
  });
});
