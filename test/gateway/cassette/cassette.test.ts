import { readFile, stat, writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { describe, expect, it } from 'vitest';
import type { ModelRoute } from '../../../src/gateway/model/model-route.ts';
import { openMasker } from '../../../src/lib/secrets/masker.ts';
import type { Turn } from '../../support/model/model-server.ts';
import { ask, type Answer } from '../client.ts';
import { gateway, httpServer, modelServer, OPENAI } from '../fixture.ts';
import { tempDir } from '../../support/temp-dir.ts';

const KEY = 'sk-canary-0123456789abcdef';
const NOWHERE = 'http://127.0.0.1:1/v1';

const result = { type: 'function_call_output', call_id: 'c', output: 'Wall time: 0.1 s' };
const bodies = [
  {
    model: 'm',
    tools: [{ type: 'function', name: 'exec_command' }],
    input: [{ role: 'user', content: 'first' }],
    prompt_cache_key: 'a',
  },
  { model: 'm', input: [{ role: 'user', content: 'second' }, result], prompt_cache_key: 'a' },
];

/** Records one answer for each body and gives the cassette and what the client saw. */
async function record(turns: Turn[], timed = false): Promise<{ cassette: string; answers: Answer[] }> {
  const cassette = join(tempDir(), 'deep', 'story.jsonl');
  const model = await modelServer(turns);
  const gate = await gateway({
    model: { ...OPENAI, mode: 'record', baseUrl: model.url, providerKeys: [KEY], cassette, timed },
  });
  const answers: Answer[] = [];
  for (const body of bodies) answers.push(await ask(gate.socket, { body, headers: { cookie: 'foreign' } }));
  await gate.close();
  expect(gate.problem()?.sentence).toBeUndefined();
  return { cassette, answers };
}

const replay = (cassette: string): ModelRoute => ({
  ...OPENAI,
  mode: 'replay',
  baseUrl: NOWHERE,
  providerKeys: [],
  cassette,
});

describe('a cassette', () => {
  it('returns the same bytes to the client, without a provider', async () => {
    const { cassette, answers } = await record([{ run: 'echo é' }, { say: 'done', usage: { input: 5, output: 2 } }]);
    const gate = await gateway({ model: replay(cassette) });
    for (const [index, body] of bodies.entries()) {
      const answer = await ask(gate.socket, { body: { ...body, prompt_cache_key: 'b', client_metadata: { t: '1' } } });
      expect(answer.status).toBe(200);
      expect(answer.body).toBe(answers[index]?.body);
      expect(answer.headers['content-type']).toBe('text/event-stream');
    }
    expect(gate.usage()).toEqual({ requests: 2, inputTokens: 105, cachedTokens: 0, outputTokens: 12 });
    expect(gate.problem()?.sentence).toBeUndefined();
  });

  it('records the timing of answers and repeats it, if configured', async () => {
    const { cassette, answers } = await record([{ say: 'slow', delayMs: 300 }, { say: 'done' }], true);
    const exchange = JSON.parse((await readFile(cassette, 'utf8')).split('\n')[1] ?? '') as {
      response: { times: number[] };
    };
    const { times } = exchange.response;
    expect(times.length).toBe(answers[0]?.body.split('\n\n').filter((event) => event !== '').length);
    expect(times).toEqual([...times].sort((a, b) => a - b));
    expect(times[0]).toBeGreaterThanOrEqual(290);
    const gate = await gateway({ model: { ...replay(cassette), timed: true } });
    const begun = performance.now();
    expect((await ask(gate.socket, { body: bodies[0] })).body).toBe(answers[0]?.body);
    expect(performance.now() - begun).toBeGreaterThanOrEqual(290);
  });

  it('replays errors with their status', async () => {
    const { cassette } = await record([{ fail: 429, headers: { 'retry-after': '3' } }, { say: 'done' }]);
    const lines = (await readFile(cassette, 'utf8')).split('\n');
    expect(lines[1]).toContain('"status":429');
    const gate = await gateway({ model: replay(cassette) });
    const answer = await ask(gate.socket, { body: bodies[0] });
    expect([answer.status, answer.headers['retry-after']]).toEqual([429, '3']);
  });

  it('contains no credentials and is private to its owner', async () => {
    const { cassette } = await record([{ say: 'one' }, { say: 'two' }]);
    const text = await readFile(cassette, 'utf8');
    expect(text).not.toContain(KEY);
    expect(text).not.toMatch(/authorization|cookie|foreign/i);
    expect((await stat(cassette)).mode & 0o777).toBe(0o600);
    expect(JSON.parse(text.split('\n')[0] ?? '')).toMatchObject({ halo_cassette: 1 });
  });

  it('never contains the key, even if the provider repeats it', async () => {
    const provider = await httpServer((req, res) => {
      res.statusCode = req.headers.accept === 'teapot' ? 418 : 401;
      res.end(`your ${req.headers.authorization}`);
    });
    const cassette = join(tempDir(), 'story.jsonl');
    const gate = await gateway({
      model: { ...OPENAI, mode: 'record', baseUrl: `http://${provider}/v1`, providerKeys: [KEY], cassette },
    });
    await ask(gate.socket, { headers: { accept: 'teapot' } });
    await ask(gate.socket);
    await gate.close();
    const text = await readFile(cassette, 'utf8');
    expect(text).not.toContain(KEY);
    expect(text).toContain('"status":418');
    expect(text).toContain('refused the key (HTTP status 401)');
  });

  it('replays a broken stream as a broken stream', async () => {
    const cassette = join(tempDir(), 'story.jsonl');
    const model = await modelServer([{ cut: 'middle' }, { say: 'done' }]);
    const recorded = await gateway({
      model: { ...OPENAI, mode: 'record', baseUrl: model.url, providerKeys: [KEY], cassette },
    });
    await expect(ask(recorded.socket)).rejects.toMatchObject({ code: 'ECONNRESET' });
    await ask(recorded.socket);
    await recorded.close();
    const gate = await gateway({ model: replay(cassette) });
    await expect(ask(gate.socket)).rejects.toMatchObject({ code: 'ECONNRESET' });
    expect((await ask(gate.socket)).body).toContain('done');
  });

  it('keeps where a message went in, also if it says the same as an earlier one', async () => {
    const cassette = join(tempDir(), 'story.jsonl');
    const model = await modelServer([{ say: 'a' }, { say: 'b' }, { say: 'c' }, { say: 'd' }]);
    const gate = await gateway({
      model: { ...OPENAI, mode: 'record', baseUrl: model.url, providerKeys: [KEY], cassette },
    });
    const SENT = 'ann wrote:\n"Continue."';
    const request = (...messages: string[]) =>
      ask(gate.socket, { body: { model: 'm', input: messages.map((content) => ({ role: 'user', content })) } });
    await request('Do it.');
    gate.recordMessage({ id: 'm1', by: 'ann', text: 'Continue.' }, SENT);
    await request('Do it.', SENT);
    gate.recordMessage({ id: 'm2', by: 'ann', text: 'Continue.' }, SENT);
    await request('Do it.', SENT);
    await request('Do it.', SENT, SENT);
    await gate.close();
    const lines = (await readFile(cassette, 'utf8')).trim().split('\n');
    const kept = lines.map((line) => JSON.parse(line) as { message?: object }).flatMap(({ message }) => message ?? []);
    expect(kept).toMatchObject([
      { id: 'm1', after: 1 },
      { id: 'm2', after: 3 },
    ]);
  });

  it('reports why a request gets no answer because of its own fault', async () => {
    const cassette = join(tempDir(), 'story.jsonl');
    const model = await modelServer([{ say: 'done' }]);
    const recorded = await gateway({
      model: { ...OPENAI, mode: 'record', baseUrl: model.url, providerKeys: [KEY], cassette },
    });
    await ask(recorded.socket);
    await recorded.close();
    const masker = {
      ...openMasker(),
      value: () => {
        throw new Error('no masks are left');
      },
    };
    const gate = await gateway({ model: { ...replay(cassette), masker } });
    await expect(ask(gate.socket)).rejects.toMatchObject({ code: 'ECONNRESET' });
    expect(gate.problem()?.sentence).toMatch(/^The gateway failed at POST \/v1\/responses: .*no masks are left/);
  });

  it('keeps the order of the requests, not that of the ends of answers', async () => {
    const cassette = join(tempDir(), 'story.jsonl');
    const model = await modelServer([{ say: 'slow', delayMs: 200 }, { say: 'quick' }]);
    const recorded = await gateway({
      model: { ...OPENAI, mode: 'record', baseUrl: model.url, providerKeys: [KEY], cassette },
    });
    const slow = ask(recorded.socket);
    while (model.requests.length === 0) await new Promise((resolve) => setTimeout(resolve, 5));
    await Promise.all([slow, ask(recorded.socket)]);
    await recorded.close();
    const gate = await gateway({ model: replay(cassette) });
    expect((await ask(gate.socket)).body).toContain('slow');
    expect((await ask(gate.socket)).body).toContain('quick');
  });
});

describe('a replay that does not match', () => {
  const turns: Turn[] = [{ say: 'one' }, { say: 'two' }];

  it.each([
    ['another model', { model: 'other', input: [] }, /asks for the model "other".* recorded with "m"/],
    ['a tool result too many', { model: 'm', input: [result] }, /request 1 carries 1 tool results.* has 0/],
  ])('refuses %s and everything after it', async (_what, body, sentence) => {
    const { cassette } = await record(turns);
    const gate = await gateway({ model: replay(cassette) });
    const answer = await ask(gate.socket, { body });
    expect(answer.status).toBe(400);
    expect(answer.body).toMatch(/story\.jsonl/);
    expect(gate.problem()?.sentence).toMatch(sentence);
    expect((await ask(gate.socket, { body: bodies[1] })).status).toBe(400);
    expect(gate.problem()?.sentence).toMatch(sentence);
  });

  it('refuses an additional request', async () => {
    const { cassette } = await record(turns);
    const gate = await gateway({ model: replay(cassette) });
    for (const body of bodies) expect((await ask(gate.socket, { body })).status).toBe(200);
    expect((await ask(gate.socket, { body: bodies[0] })).status).toBe(400);
    expect(gate.problem()?.sentence).toMatch(/makes request 3, but the cassette story\.jsonl holds only 2/);
  });

  it('ignores requests that are not for the model', async () => {
    const { cassette } = await record(turns);
    const gate = await gateway({ model: replay(cassette) });
    await ask(gate.socket, { path: '/v1/models', method: 'GET', body: undefined });
    expect((await ask(gate.socket, { body: bodies[0] })).status).toBe(200);
  });

  it('does not start with a missing or malformed cassette', async () => {
    const dir = tempDir();
    const start = (name: string) => gateway({ model: replay(join(dir, name)) });
    await expect(start('absent.jsonl')).rejects.toMatchObject({ code: 'CASSETTE_MISSING' });
    await writeFile(join(dir, 'empty.jsonl'), '');
    await expect(start('empty.jsonl')).rejects.toThrow('its first line is not a cassette header');
    await writeFile(join(dir, 'text.jsonl'), '{"halo_cassette":1}\nhello\n');
    await expect(start('text.jsonl')).rejects.toThrow('line 2 is not JSON');
    await writeFile(join(dir, 'shape.jsonl'), '{"halo_cassette":1}\n{"seq":1,"request":{}}\n');
    await expect(start('shape.jsonl')).rejects.toThrow('line 2: request.method is wrong');
  });

  it('reports that the cassette cannot be written', async () => {
    const model: ModelRoute = {
      ...OPENAI,
      mode: 'record',
      baseUrl: NOWHERE,
      providerKeys: [KEY],
      cassette: '/dev/null/story.jsonl',
    };
    await expect(gateway({ model })).rejects.toMatchObject({ code: 'DISK_FAILED' });
  });
});
