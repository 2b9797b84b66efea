import { describe, expect } from 'vitest';
import { ask } from '../../gateway/client.ts';
import { httpServer } from '../../gateway/fixture.ts';
import { it } from '../../support/fixtures.ts';
import { HOURS, KEYS, openKeys } from '../../worker/network/open-keys.ts';

describe('incident model-keys: an agent that wants to learn, choose or use up keys', () => {
  it('learns none of them, whichever a provider repeats, and Redis and journal have none', async ({ home, link }) => {
    const provider = await httpServer((_req, res) => {
      res.writeHead(200, { 'content-type': 'text/event-stream', 'x-request-id': KEYS[0] });
      res.end(`data: ${KEYS.join(' and ')} ${KEYS.map((key) => Buffer.from(key).toString('base64')).join(' ')}\n\n`);
    });
    const { attempt, link: shared } = await openKeys({ home, link }, [HOURS], `http://${provider}/v1`);
    const gate = await attempt();
    const answer = await ask(gate.socket);
    expect(answer.status).toBe(200);
    const names = await shared.client.keys(`${shared.prefix}:*`);
    const values = await Promise.all(names.map((name) => shared.client.dump(name)));
    const kept = [answer.all, ...names, ...values.map(String)].join('\n');
    for (const key of KEYS) expect(kept).not.toContain(key);
    for (const key of KEYS) expect(kept).not.toContain(Buffer.from(key).toString('base64').slice(2, 14));
  });

  it('cannot choose one with headers, fields or queries', async ({ home, link }) => {
    const { attempt, keys } = await openKeys({ home, link }, [{ say: 'one' }, { say: 'two' }]);
    const gate = await attempt();
    const headers = { 'x-halo-key': '2', 'x-api-key': KEYS[1]!, 'x-key': 'file:/keys/second' };
    const body = { model: 'm', stream: true, input: [], key: 2, api_key: KEYS[1], avoid: [0] };
    expect((await ask(gate.socket, { headers, body })).status).toBe(200);
    expect((await ask(gate.socket, { path: '/v1/responses?key=2' })).status).toBe(404);
    expect(keys()).toEqual([1]);
  });

  it.for([402, 403, 429])(
    'uses up none with requests that every key refuses with %s',
    async (status, { home, link }) => {
      const refused = [1, 2].map(() => ({ fail: status }));
      const { attempt, events, keys } = await openKeys({ home, link }, [...refused, { say: 'one' }]);
      const [attacker, other] = [await attempt(), await attempt([], 'US-002')];
      expect((await ask(attacker.socket)).status).toBe(status);
      expect((await ask(other.socket)).status).toBe(200);
      expect(keys()).toEqual([1, 2, 1]);
      expect(await events('key.paused')).toEqual([]);
    },
  );

  it('uses up none during a pause of the other, with requests that are refused', async ({ home, link }) => {
    const { attempt, keys } = await openKeys({ home, link }, [HOURS, { fail: 403 }, { say: 'one' }]);
    const [attacker, other] = [await attempt(), await attempt([], 'US-002')];
    expect((await ask(attacker.socket)).status).toBe(403);
    expect((await ask(other.socket)).status).toBe(200);
    expect(keys()).toEqual([1, 2, 2]);
  });
});
