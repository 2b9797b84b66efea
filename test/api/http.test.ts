import type { FastifyInstance } from 'fastify';
import { afterEach, beforeEach, describe, expect, it } from 'vitest';
import { openHttp } from '../../src/api/http-client.ts';
import { buildApp } from '../../src/api/http-server.ts';
import type { Operations, SubmitRequest } from '../../src/api/operations.ts';
import { toHaloError } from '../../src/core/failure/errors.ts';
import { openMemory, type MemoryOperations } from '../support/memory-operations.ts';
import { COMMIT, created, held, passed, succeeded } from '../support/journal.ts';

const TOKEN = 'a-token-of-the-test';
const REQUEST: SubmitRequest = {
  prd: { path: '/x/prd.json', bytes: new TextEncoder().encode('{"ä": "漢"}') },
  repos: ['/x/a', 'https://example.com/b.git'],
  profile: undefined,
  set: ['agent=codex'],
  allowDirty: false,
};

let memory: MemoryOperations;
let app: FastifyInstance;
let url: string;

beforeEach(async () => {
  memory = openMemory();
  app = buildApp({ operations: memory, token: TOKEN, hosts: ['127.0.0.1', 'localhost'] });
  url = await app.listen({ host: '127.0.0.1', port: 0 });
});

afterEach(() => app.close());

const WAYS: [string, () => Operations][] = [
  ['directly', () => memory],
  ['over HTTP', () => openHttp({ url, token: TOKEN })],
];

describe.each(WAYS)('operations %s', (name, open) => {
  it('submits a PRD byte for byte and returns a run per repository', async () => {
    expect(await open().submit(REQUEST)).toEqual([
      { runId: 'new-1', repo: '/x/a', warnings: ['a warning'], parallel: 1 },
      { runId: 'new-2', repo: 'https://example.com/b.git', warnings: ['a warning'], parallel: 1 },
    ]);
    const user = name === 'over HTTP' ? { user: expect.any(String) as string, remote: true } : {};
    expect(memory.submitted).toEqual([{ ...REQUEST, ...user }]);
  });

  it('lists runs newest first and shows one by a prefix of its id', async () => {
    memory.addRun(succeeded('r1-aaa'));
    memory.addRun(succeeded('r2-bbb'));
    expect((await open().list()).map((run) => run.runId)).toEqual(['r2-bbb', 'r1-aaa']);
    expect(await open().get('r1')).toEqual(await memory.get('r1-aaa'));
  });

  it('streams what is there, from any point on', async () => {
    memory.addRun(succeeded('r1'));
    const all = await collect(open().follow('r1', { after: 0, follow: false }));
    expect(all).toEqual(await collect(memory.follow('r1', { after: 0, follow: false })));
    expect(await collect(open().follow('r1', { after: 10, follow: false }))).toEqual(all.slice(10));
  });

  it('approves and rejects what waits for a person', async () => {
    for (const id of ['r1', 'r2']) memory.addRun([created(id, 1), { type: 'run.started' }, ...held('US-001')]);
    expect(await open().approve('r1', 'US-001')).toMatchObject({ story: 'US-001', commit: COMMIT, landed: true });
    expect(await open().reject('r2', 'US-001', 'no')).toMatchObject({ story: 'US-001', landed: false });
    expect((await memory.get('r2')).state.stories[0]).toMatchObject({ stopReason: 'APPROVAL_DENIED', summary: 'no' });
    await expect(open().approve('r1', 'US-001')).rejects.toMatchObject({ code: 'LAND_REFUSED' });
  });

  it('pauses, resumes, retries and cancels runs and stories', async () => {
    memory.addRun([created('r1', 2), { type: 'run.started' }]);
    const types = async () => (await collect(memory.follow('r1', { after: 2, follow: false }))).map(({ type }) => type);
    await open().pause('r1', { now: true });
    expect((await collect(memory.follow('r1', { after: 2, follow: false })))[0]).toMatchObject({ now: true });
    await open().resume('r1', {});
    await open().resume('r1', { replan: { prd: REQUEST.prd } });
    expect(memory.replanned).toEqual([{ ...REQUEST.prd, ...(name === 'over HTTP' ? { remote: true } : {}) }]);
    await open().cancel('r1', 'US-002');
    await open().retry('r1', 'US-002');
    await open().cancel('r1', undefined);
    expect(await types()).toEqual([
      'run.paused',
      'run.resumed',
      'run.resumed',
      'story.cancelled',
      'run.retried',
      'run.ended',
    ]);
    expect((await open().get('r1')).state).toMatchObject({ status: 'ended', stopReason: 'USER_ABORT' });
    await expect(open().cancel('nowhere', undefined)).rejects.toMatchObject({ code: 'RUN_NOT_FOUND' });
  });

  it('follows a run until it ends', async () => {
    memory.addRun([created('r1', 1), { type: 'run.started' }]);
    const seen: string[] = [];
    for await (const event of open().follow('r1', { after: 0, follow: true })) {
      seen.push(event.type);
      if (event.type === 'run.started') for (const entry of passed('US-001')) memory.append('r1', entry);
      if (event.type === 'story.ended') memory.append('r1', { type: 'run.ended', stopReason: 'SUCCESS', detail: '' });
    }
    expect(seen.at(-1)).toBe('run.ended');
    expect(seen).toHaveLength(2 + passed('US-001').length + 1);
  });

  it('stops following when asked to, and lets go of the run', async () => {
    memory.addRun([created('r1', 1)]);
    const stop = new AbortController();
    for await (const event of open().follow('r1', { after: 0, follow: true, signal: stop.signal }))
      if (event.type === 'run.created') stop.abort();
    await expect.poll(() => memory.followers('r1')).toBe(0);
  });

  it('streams raw lines, of all stories or of one', async () => {
    const raw = [
      { story: 'US-001', line: '{"ä":1}' },
      { story: 'US-002', line: '\u001b[0m' },
    ];
    memory.addRun([created('r1', 2)], raw);
    expect(await text(open().raw('r1', { storyId: undefined, follow: false }))).toBe('{"ä":1}\n\u001b[0m\n');
    expect(await text(open().raw('r1', { storyId: 'US-002', follow: false }))).toBe('\u001b[0m\n');
  });

  it('gives the diff of the run and of a story', async () => {
    memory.addRun(succeeded('r1'));
    expect((await open().diff('r1', undefined)).toString()).toContain('+new of all\n');
    expect((await open().diff('r1', 'US 1/ä')).toString()).toContain('+new of US 1/ä\n');
  });

  it('lists the files of attempts and gives one of them', async () => {
    memory.addRun(succeeded('run-1'));
    memory.addArtifact('run-1', 'us-001-ab/1/gates/1.log', 'a log \u001b[31m');
    const path = 'us-001-ab/1/gates/1.log';
    expect(await open().artifacts('run-1')).toMatchObject([{ path, bytes: 11 }]);
    expect((await open().artifact('run-1', path)).toString()).toBe('a log \u001b[31m');
    await expect(open().artifact('run-1', 'us-001-ab/1/a%2f/../?x')).rejects.toMatchObject({
      code: 'ARTIFACT_UNREADABLE',
    });
  });

  it('lands', async () => {
    memory.addRun(succeeded('r1'));
    expect(await open().land('r1')).toEqual(await memory.land('r1'));
  });

  it('replays an attempt', async () => {
    memory.addRun(succeeded('r1'));
    const options = { storyId: 'US-001', attempt: 2 };
    expect(await open().replay('r1', options)).toEqual(await memory.replay('r1', options));
    await expect(open().replay('r1', { storyId: 'no' })).rejects.toMatchObject({ code: 'STORY_NOT_FOUND' });
  });

  it('throws the same errors', async () => {
    memory.addRun([created('r1', 1)]);
    expect(await errorOf(() => open().get('no/such'))).toEqual({
      code: 'RUN_NOT_FOUND',
      message: 'There is no run no/such.',
      hint: '`halo ls` shows all runs.',
    });
    expect(await errorOf(() => open().land('r1'))).toMatchObject({ code: 'LAND_REFUSED', hint: 'Look at its logs.' });
    expect(await errorOf(() => collect(open().follow('nope', { after: 0, follow: true })))).toMatchObject({
      code: 'RUN_NOT_FOUND',
    });
    expect(await errorOf(() => collect(open().raw('r1', { storyId: 'x', follow: false })))).toEqual({
      code: 'STORY_NOT_FOUND',
      message: 'Run r1 has no story x.',
      hint: undefined,
    });
    const empty = { ...REQUEST, prd: { path: 'p', bytes: new Uint8Array() } };
    expect(await errorOf(() => open().submit(empty))).toMatchObject({ code: 'PRD_INVALID', hint: 'Write a story.' });
  });
});

describe('the HTTP server', () => {
  it.each([{}, { authorization: 'Bearer wrong' }, { authorization: TOKEN }, { authorization: `Basic ${TOKEN}` }])(
    'refuses a request without the right token: %o',
    async (headers) => {
      for (const path of ['/v1/runs', '/', '/v1/runs/x/events']) {
        const answer = await app.inject({ url: path, headers: { host: '127.0.0.1', ...headers } });
        expect(answer.statusCode).toBe(401);
        expect(answer.json()).toMatchObject({ code: 'API_REFUSED' });
      }
    },
  );

  it('refuses names that it does not know, so that no web page can reach it by a name of its own', async () => {
    const headers = { authorization: `Bearer ${TOKEN}`, host: 'evil.example:7070' };
    expect((await app.inject({ url: '/v1/runs', headers })).json()).toMatchObject({ code: 'API_REFUSED' });
  });

  it.each([
    ['no JSON', '{', 'application/json'],
    ['a missing part', '{"repos": []}', 'application/json'],
    ['an unknown part', JSON.stringify({ ...body(), more: 1 }), 'application/json'],
    ['a form', 'a=b', 'application/x-www-form-urlencoded'],
    ['far too much', JSON.stringify({ ...body(), profile: 'x'.repeat(9_000_000) }), 'application/json'],
  ])('refuses a submit with %s as wrong usage', async (_name, payload, type) => {
    const headers = { authorization: `Bearer ${TOKEN}`, host: 'localhost', 'content-type': type };
    const answer = await app.inject({ method: 'POST', url: '/v1/runs', headers, payload });
    expect(answer.statusCode).toBe(400);
    expect(answer.json()).toMatchObject({ code: 'USAGE' });
    expect(memory.submitted).toEqual([]);
  });

  it('closes while somebody follows', async () => {
    memory.addRun([created('r1', 1)]);
    const stop = new AbortController();
    const server = openHttp({ url, token: TOKEN });
    const following = collect(server.follow('r1', { after: 0, follow: true, signal: stop.signal }));
    await expect.poll(() => memory.followers('r1')).toBe(1);
    await app.close();
    await expect.poll(() => memory.followers('r1')).toBe(0);
    stop.abort();
    expect((await following).map((event) => event.type)).toEqual(['run.created']);
  });
});

describe('the HTTP client', () => {
  it.each(['model.base_url=http://evil.example', 'model.key_command="id"', 'providers={openai={key_env="A"}}'])(
    'cannot choose where keys of the server come from or go to: -c %s',
    async (option) => {
      const submitted = openHttp({ url, token: TOKEN }).submit({ ...REQUEST, set: [option] });
      await expect(submitted).rejects.toMatchObject({
        code: 'CONFIG_INVALID',
        message: expect.stringContaining('cannot be set from another machine') as string,
      });
    },
  );

  it('says where it looked when nothing answers', async () => {
    await app.close();
    const error = await errorOf(() => openHttp({ url, token: TOKEN }).list());
    expect(error).toMatchObject({ code: 'API_UNREACHABLE', message: `The halo server at ${url} does not answer.` });
  });

  it('goes on following where it was when the server comes back', async () => {
    memory.addRun([created('r1', 1)]);
    const following = collect(openHttp({ url, token: TOKEN }).follow('r1', { after: 0, follow: true }));
    await expect.poll(() => memory.followers('r1')).toBe(1);
    await app.close();
    app = buildApp({ operations: memory, token: TOKEN });
    await app.listen({ host: '127.0.0.1', port: Number(new URL(url).port) });
    memory.append('r1', { type: 'run.started' });
    memory.append('r1', { type: 'run.ended', stopReason: 'SUCCESS', detail: '' });
    expect((await following).map((event) => event.type)).toEqual(['run.created', 'run.started', 'run.ended']);
  });

  it('tells a wrong token from a missing server', async () => {
    expect(await errorOf(() => openHttp({ url, token: 'wrong' }).list())).toMatchObject({ code: 'API_REFUSED' });
  });
});

function body() {
  return { prd: { path: 'p', content: 'e30=' }, repos: ['/x'], set: [], allowDirty: false };
}

async function collect<T>(items: AsyncIterable<T>): Promise<T[]> {
  const all: T[] = [];
  for await (const item of items) all.push(item);
  return all;
}

async function text(chunks: AsyncIterable<Uint8Array>): Promise<string> {
  return Buffer.concat(await collect(chunks)).toString();
}

async function errorOf(work: () => Promise<unknown>) {
  try {
    await work();
  } catch (thrown) {
    const { code, message, hint } = toHaloError(thrown);
    return { code, message, hint };
  }
  throw new Error('nothing was thrown');
}
