import type { FastifyInstance } from 'fastify';
import { ownerAccess } from '../../support/halo/owner-access.ts';
import { afterEach, beforeEach, describe, expect, it, onTestFinished, vi } from 'vitest';
import { openHttp } from '../../../src/api/http/http-client.ts';
import { ALL_OPERATIONS } from '../../../src/api/operations.ts';
import { buildApp } from '../../../src/api/http/http-server.ts';
import type { CallOperation } from '../../../src/api/operations/operation.ts';
import { HaloError } from '../../../src/core/failure/errors.ts';
import type { SubmitRequest } from '../../../src/api/operations/schemas.ts';
import { errorOf } from '../../support/error-of.ts';
import { openScriptedHome, type ScriptedHome } from '../../support/halo/scripted-home.ts';
import { created } from '../../support/journal.ts';
import { freePort } from '../../support/network/free-port.ts';

const TOKEN = 'a-token-of-the-test';
const RUN = '0tbq1aaaaaaaaaaa';
const REQUEST: SubmitRequest = {
  prd: { path: '/x/prd.json', bytes: new TextEncoder().encode('{"ä": "漢"}') },
  repos: ['/x/a', 'https://example.com/b.git'],
  profile: undefined,
  set: ['agent=codex'],
  allowDirty: false,
};

let home: ScriptedHome;
let app: FastifyInstance;
let url: string;

beforeEach(async () => {
  home = openScriptedHome();
  app = buildApp({ access: ownerAccess(home.operations.callRemotely(), TOKEN), hosts: ['127.0.0.1', 'localhost'] });
  url = await app.listen({ host: '127.0.0.1', port: await freePort() });
});

afterEach(async () => {
  await app.close();
  await home.remove();
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

  it('ends a submit when its client leaves, and nothing else', async () => {
    const called: { name: string; signal: AbortSignal | undefined }[] = [];
    const call: CallOperation = (operation, _input, signal) =>
      new Promise((_resolve, reject) => {
        called.push({ name: operation.name, signal });
        signal?.addEventListener('abort', () => reject(new HaloError('RUN_ABORTED', 'The client has left.')));
      });
    const waiting = buildApp({ access: ownerAccess(call, TOKEN), hosts: ['127.0.0.1'] });
    onTestFinished(() => waiting.close());
    const at = await waiting.listen({ host: '127.0.0.1', port: 0 });
    const client = new AbortController();
    const headers = { authorization: `Bearer ${TOKEN}`, 'content-type': 'application/json' };
    const sent = { method: 'POST', headers, signal: client.signal };
    const ends = Promise.allSettled([
      fetch(`${at}/v1/runs`, { ...sent, body: JSON.stringify(body()) }),
      fetch(`${at}/v1/runs/${RUN}/land`, { ...sent, body: '{}' }),
    ]);
    await vi.waitFor(() => expect(called).toHaveLength(2));
    client.abort();
    await ends;
    const signalOf = (name: string) => called.find((each) => each.name === name)?.signal;
    await vi.waitFor(() => expect(signalOf('submit')?.aborted).toBe(true));
    expect(signalOf('land')?.aborted).toBe(false);
  });

  it('refuses unknown host names, so that a web page cannot use its own', async () => {
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
    expect((await home.operations.listRuns()).runs).toEqual([]);
  });

  const withBody = ALL_OPERATIONS.filter(
    ({ method, path, input }) => method === 'POST' && path.startsWith('/v1/runs/{runId}/') && input !== undefined,
  );
  it.each(withBody.map(({ name, path }) => [name, path.replace('{runId}', RUN)]))(
    'refuses %s without a body, also if a query names the story',
    async (_name, path) => {
      await home.addRun([created(RUN, 1)]);
      const headers = { authorization: `Bearer ${TOKEN}`, host: 'localhost' };
      const answer = await app.inject({ method: 'POST', url: `${path}?story=US-001`, headers });
      expect(answer.statusCode).toBe(400);
      expect(answer.json()).toMatchObject({ code: 'USAGE' });
      expect((await home.operations.getRun({ runId: RUN })).state.seq).toBe(1);
    },
  );

  it('closes while a client follows a run', async () => {
    await home.addRun([created(RUN, 1)]);
    const seen: string[] = [];
    const stop = new AbortController();
    const { signal } = stop;
    const following = (async () => {
      const events = await openHttp({ url, token: TOKEN }).followEvents({ runId: RUN, after: 0, follow: true }, signal);
      for await (const { event } of events) seen.push(event.type);
    })();
    await expect.poll(() => seen).toEqual(['run.created']);
    await app.close();
    stop.abort();
    await following;
    expect(seen).toEqual(['run.created']);
  });
});

describe('the HTTP client', () => {
  it.each(['model.base_url=http://evil.example', 'model.key_command="id"', 'providers={openai={key_env="A"}}'])(
    'cannot choose the source or the destination of the server’s keys: -c %s',
    async (option) => {
      const submitted = openHttp({ url, token: TOKEN })
        .submit({ ...REQUEST, set: [option] })
        .then(({ runs }) => runs);
      await expect(submitted).rejects.toMatchObject({
        code: 'CONFIG_INVALID',
        message: expect.stringContaining('cannot be set from another machine') as string,
      });
    },
  );

  it('reports what a decision needs a confirmation of, so that a client can ask for it', async () => {
    const unconfirmed = { commit: 'c'.repeat(40), found: [{ run: RUN, flag: 'secret', text: 'US-001: adds a token' }] };
    const call: CallOperation = () => Promise.reject(new HaloError('UNCONFIRMED', 'Not confirmed.', { unconfirmed }));
    const refusing = buildApp({ access: ownerAccess(call, TOKEN), hosts: ['127.0.0.1'] });
    onTestFinished(() => refusing.close());
    const at = await refusing.listen({ host: '127.0.0.1', port: 0 });
    await expect(openHttp({ url: at, token: TOKEN }).land({ runId: RUN })).rejects.toMatchObject({
      code: 'UNCONFIRMED',
      unconfirmed,
    });
  });

  it('reports the address when no server answers', async () => {
    await app.close();
    const error = await errorOf(() =>
      openHttp({ url, token: TOKEN })
        .listRuns()
        .then(({ runs }) => runs),
    );
    expect(error).toMatchObject({ code: 'API_UNREACHABLE', message: `The halo server at ${url} does not answer.` });
  });

  it('continues after the last event when the server returns', async () => {
    await home.addRun([created(RUN, 1)]);
    const seen: string[] = [];
    const following = (async () => {
      const events = await openHttp({ url, token: TOKEN }).followEvents({ runId: RUN, after: 0, follow: true });
      for await (const { event } of events) seen.push(event.type);
    })();
    await expect.poll(() => seen).toEqual(['run.created']);
    await app.close();
    app = buildApp({ access: ownerAccess(home.operations.callRemotely(), TOKEN) });
    await app.listen({ host: '127.0.0.1', port: Number(new URL(url).port) });
    await home.append(RUN, { type: 'run.started' }, { type: 'run.ended', stopReason: 'SUCCESS', detail: '' });
    await following;
    expect(seen).toEqual(['run.created', 'run.started', 'run.ended']);
  });

  it('distinguishes a wrong token from a missing server', async () => {
    expect(
      await errorOf(() =>
        openHttp({ url, token: 'wrong' })
          .listRuns()
          .then(({ runs }) => runs),
      ),
    ).toMatchObject({ code: 'API_REFUSED' });
  });
});

function body() {
  return { prd: { path: 'p', content: 'e30=' }, repos: ['/x'], set: [], allowDirty: false };
}
