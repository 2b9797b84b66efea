import { connect } from 'node:net';
import { afterEach, beforeEach, describe, expect, it, vi } from 'vitest';
import { UserTurns } from '../../../src/api/access/user-turns.ts';
import { MAX_SESSIONS } from '../../../src/api/sign-in/sessions.ts';
import { serveApi, type Served, type ServeOptions } from '../../../src/api/http/serve-api.ts';
import type { CallOperation } from '../../../src/api/operations/operation.ts';
import { OPERATIONS } from '../../../src/api/operations.ts';
import type { OidcProvider } from '../../../src/api/sign-in/oidc-provider.ts';
import { openMcpEndpoint } from '../../../src/mcp/serve-http.ts';
import { ToolRunner } from '../../../src/mcp/tool-runner.ts';
import { UserFiles } from '../../../src/store/access/user-files.ts';
import { openStore } from '../../../src/store/store.ts';
import { openScriptedHome, type ScriptedHome } from '../../support/halo/scripted-home.ts';
import { created } from '../../support/journal.ts';
import { connectHttp } from '../../support/mcp-client.ts';
import { Browser } from '../../support/network/browser.ts';
import type { HaloError } from '../../../src/core/failure/errors.ts';
import { PATIENCE } from '../../support/patience.ts';
import { FULL, LEVEL } from '../../support/suite/level.ts';

/** Users and strangers who use more of a server than their share. */

const OWNER = 'the-token-of-the-server';

let home: ScriptedHome;
let served: Served | undefined;
let url = '';

beforeEach(() => {
  home = openScriptedHome();
});
afterEach(async () => {
  await served?.close();
  await home.remove();
});

async function serve(options: Partial<ServeOptions> = {}): Promise<void> {
  const host = { ...home.host, apiToken: OWNER };
  served = await serveApi({ operations: home.operations, listen: '127.0.0.1:0', host, ...options });
  ({ url } = served);
}

async function addUser(name: string, role: 'viewer' | 'submitter' = 'viewer'): Promise<string> {
  await home.operations.addUser({ name, role });
  return (await home.operations.createToken({ name })).token;
}

const bearer = (token: string) => ({ authorization: `Bearer ${token}` });
const get = async (path: string, headers: Record<string, string>) => (await fetch(`${url}${path}`, { headers })).status;

describe('incident user-limits: a user who makes more tokens and sessions', () => {
  it('may send no more requests than with one', async () => {
    await serve({ rules: { requestsPerMinute: 20 } });
    const tokens = [await addUser('ann'), (await home.operations.createToken({ name: 'ann' })).token];
    const browser = new Browser();
    // A sign-in is a request as well.
    await browser.post(`${url}/sign-in`, { token: tokens[0]!, return: '/' });
    const statuses: number[] = [];
    for (let count = 0; count < 24; count += 1)
      statuses.push(
        count % 3 === 0
          ? (await browser.request(`${url}/v1/runs`)).status
          : await get('/v1/runs', bearer(tokens[count % 2]!)),
      );
    expect(statuses.filter((status) => status === 200)).toHaveLength(19);
    expect(statuses.at(-1)).toBe(429);
    expect(await get('/v1/runs', bearer(await addUser('ben')))).toBe(200);
  });

  it('may sign in 30 times a minute, and has 20 sessions at most: the oldest end', async () => {
    await serve();
    const token = await addUser('ann');
    const browsers = Array.from({ length: 31 }, () => new Browser());
    const statuses: number[] = [];
    for (const browser of browsers)
      statuses.push((await browser.post(`${url}/sign-in`, { token, return: '/' })).status);
    expect(statuses.filter((status) => status === 429)).toHaveLength(1);
    const sessions = (await new UserFiles(home.host.home).tokensOf('ann')).filter(({ session }) => session);
    expect(sessions).toHaveLength(MAX_SESSIONS);
    expect((await browsers[0]!.request(`${url}/v1/runs`)).status).toBe(401);
    expect((await browsers[29]!.request(`${url}/v1/runs`)).status).toBe(200);
    const ben = await addUser('ben');
    expect((await new Browser().post(`${url}/sign-in`, { token: ben, return: '/' })).status).toBe(200);
  });

  it('leaves the owner, who is not limited in requests, as few sessions', async () => {
    await serve();
    const browsers = Array.from({ length: MAX_SESSIONS + 1 }, () => new Browser());
    for (const browser of browsers) await browser.post(`${url}/sign-in`, { token: OWNER, return: '/' });
    expect((await browsers[0]!.request(`${url}/v1/runs`)).status).toBe(401);
    expect((await browsers[1]!.request(`${url}/v1/runs`)).status).toBe(200);
  });
});

describe('incident user-token: a guess of a token', () => {
  it.each([
    ['GET', '/v1/runs'],
    ['GET', '/metrics'],
    ['GET', '/dashboard/person'],
    ['POST', '/sign-out'],
    ['POST', '/mcp'],
    ['GET', '/there-is-no-such-path'],
  ])('is limited and recorded at %s %s', async (method, path) => {
    await serve({ mcp: { handle: () => Promise.resolve(new Response('{}')), close: () => Promise.resolve() } });
    const statuses: number[] = [];
    for (let count = 0; count < 32; count += 1) {
      const headers = { ...bearer(`halo_00000000_${'x'.repeat(43)}`), origin: url };
      statuses.push((await fetch(`${url}${path}`, { method, headers })).status);
    }
    expect(new Set(statuses.slice(0, 30))).toEqual(new Set([401]));
    expect(statuses.slice(30)).toEqual([429, 429]);
    const [refused] = (await home.operations.readAccessLog({ limit: 5 })).events.filter(
      ({ type }) => type === 'token.refused',
    );
    expect(refused).toMatchObject({ reason: 'unknown', token: '00000000' });
  });

  it.each(['/', '/sign-in', '/sign-in/oidc', '/sign-in/oidc/callback', '/healthz', '/readyz', '/dashboard/main.css'])(
    'learns nothing at %s, which is open',
    async (path) => {
      await serve();
      const answers = await Promise.all(
        [OWNER, 'a-wrong-token-of-the-server'].map(async (token) => {
          const answer = await fetch(`${url}${path}`, { headers: bearer(token), redirect: 'manual' });
          return [answer.status, answer.headers.get('location'), await answer.text()];
        }),
      );
      expect(answers[0]).toEqual(answers[1]);
    },
  );
});

describe('incident user-limits: sign-ins of strangers through a provider', () => {
  const oidc = {
    issuer: 'https://id.example',
    clientId: 'halo',
    secret: { env: 'X', file: undefined, command: undefined },
    userClaim: 'sub',
    groupsClaim: 'groups',
    roles: {},
    newUsers: 'viewer',
    sessionMs: 3_600_000,
  } as const;
  let asked = 0;
  /** A provider that confirms the sign-in of the code `ann`. */
  const provider = {
    begin: () => {
      const state = `state-${(asked += 1)}`;
      return Promise.resolve({
        url: `https://id.example/?state=${state}`,
        pending: { state, nonce: 'n', verifier: 'v' },
      });
    },
    finish: (query: string) => Promise.resolve({ sub: new URLSearchParams(query).get('code') ?? '' }),
  } as unknown as OidcProvider;

  beforeEach(async () => {
    asked = 0;
    await serve({
      rules: { requestsPerMinute: 0, url: 'http://127.0.0.1', oidc },
      openProvider: () => Promise.resolve(provider),
    });
  });

  it('do not end that of a person, however many they begin', async () => {
    const ann = new Browser();
    await ann.request(`${url}/sign-in/oidc`);
    for (let count = 0; count < (LEVEL >= FULL ? 1_001 : 101); count += 1)
      await fetch(`${url}/sign-in/oidc`, { redirect: 'manual' });
    expect((await ann.open(`${url}/sign-in/oidc/callback?state=state-1&code=ann`)).url).toBe(`${url}/`);
    expect(await (await ann.request(`${url}/dashboard/person`)).json()).toMatchObject({ name: 'ann' });
  });

  it('are not confused with those of cookies that a program on another port has set', async () => {
    const ann = new Browser();
    await ann.request(`${url}/sign-in/oidc`);
    const [[name = '', cookie = ''] = []] = ann.cookiesOf(url);
    const headers = { cookie: `${name}=x; ${name}=${'A'.repeat(60)}; ${name}=${cookie}` };
    const answer = await fetch(`${url}/sign-in/oidc/callback?state=state-1&code=ann`, { headers });
    expect(answer.status).toBe(200);
    const again = await fetch(`${url}/sign-in/oidc/callback?state=state-1&code=ann`, { headers });
    expect(await again.text()).toContain('began in another browser');
  });

  it('are limited and recorded when they are refused', async () => {
    const statuses: number[] = [];
    for (let count = 0; count < 32; count += 1) {
      const stranger = new Browser();
      await stranger.request(`${url}/sign-in/oidc`);
      const callback = `${url}/sign-in/oidc/callback?state=state-${count + 1}&code=%3Cb%3E`;
      statuses.push((await stranger.open(callback)).status);
    }
    expect(statuses.slice(-3)).toEqual([403, 429, 429]);
    expect((await home.operations.readAccessLog({ limit: 1 })).events[0]).toMatchObject({ type: 'session.refused' });
  });
});

describe('incident user-limits: a user of MCP', () => {
  it('who waits in as many calls as are allowed does not hold up others', async () => {
    const { operations } = home;
    const mcp = openMcpEndpoint({
      runner: new ToolRunner({ operations: operations.restrictedFor({ by: 'owner' }) }),
      operationsFor: () => operations.restrictedFor({ by: 'ann' }),
      decides: () => Promise.resolve(false),
    });
    await serve({ mcp });
    const runId = await home.addRun([created()]);
    const [ann, ben] = [await connectHttp(url, await addUser('ann')), await connectHttp(url, await addUser('ben'))];
    const owner = await connectHttp(url, OWNER);
    const waiting = Array.from({ length: 33 }, () => ann.call('halo_wait', { runId, seconds: 50 }));
    const refused = await Promise.any(
      waiting.map(async (call) => call.then(() => Promise.reject(new Error()), String)),
    );
    expect(refused).toContain('More than 32 tool calls');
    for (const other of [ben, owner]) expect(await other.call('halo_runs')).toMatchObject({ runs: [{ runId }] });
    for (const client of [ann, ben, owner]) await client.close();
    await Promise.allSettled(waiting);
  });
});

describe('incident user-limits: a user with slow requests', () => {
  it('has 128 at a time, over all tokens, and does not hold up others', async () => {
    const { operations } = home;
    // Requests of ann do not end; eight run, the others wait.
    const callFor: typeof operations.callFor = (user, by) =>
      user.name === 'ann' ? () => new Promise<never>(() => undefined) : operations.callFor(user, by);
    await serve({ operations: { ...operations, callFor } });
    const tokens = [await addUser('ann'), (await operations.createToken({ name: 'ann' })).token];
    const ask = async (token: string, signal: AbortSignal) =>
      (await fetch(`${url}/v1/runs`, { headers: bearer(token), signal })).status;
    const leave = new AbortController();
    const asked = Array.from({ length: 130 }, (_, at) => ask(tokens[at % 2]!, leave.signal));
    const refused: number[] = [];
    for (const each of asked) void each.then((status) => refused.push(status)).catch(() => undefined);
    await vi.waitFor(() => expect(refused).toEqual([429, 429]), PATIENCE);
    expect(await get('/v1/runs', bearer(await addUser('ben')))).toBe(200);
    leave.abort();
    await Promise.allSettled(asked);
  });

  it('has 8 answers at a time in memory that it does not read, and does not hold up others', async () => {
    const { operations } = home;
    let made = 0;
    const callFor: typeof operations.callFor = (user, by) => {
      if (user.name !== 'ann') return operations.callFor(user, by);
      return (() => Promise.resolve(Buffer.alloc(8 * 1024 * 1024, (made += 1)))) as CallOperation;
    };
    await serve({ operations: { ...operations, callFor } });
    const token = await addUser('ann');
    const { port, host } = new URL(url);
    const clients = Array.from({ length: 20 }, () => {
      const client = connect(Number(port), '127.0.0.1').on('error', () => undefined);
      client.pause().write(`GET /v1/runs/r/diff HTTP/1.1\r\nHost: ${host}\r\nAuthorization: Bearer ${token}\r\n\r\n`);
      return client;
    });
    await vi.waitFor(() => expect(made).toBe(8), PATIENCE);
    expect(await get('/v1/runs', bearer(await addUser('ben')))).toBe(200);
    expect(made).toBe(8);
    // The next ones get the places of those that leave.
    for (const client of clients.slice(0, 10)) client.destroy();
    await vi.waitFor(() => expect(made).toBeGreaterThan(8), PATIENCE);
    for (const client of clients) client.destroy();
  });

  it('keeps no place for a client that leaves before the server knows who it is', async () => {
    await serve();
    const token = await addUser('ann');
    let proceed = () => undefined as void;
    const held = new Promise<void>((resolve) => (proceed = resolve));
    const markUsed = vi.spyOn(UserFiles.prototype, 'markUsed').mockReturnValue(held);
    const { port, host } = new URL(url);
    const clients = Array.from({ length: 8 }, () => {
      const client = connect(Number(port), '127.0.0.1').on('error', () => undefined);
      client.write(`GET /v1/runs HTTP/1.1\r\nHost: ${host}\r\nAuthorization: Bearer ${token}\r\n\r\n`);
      return client;
    });
    await vi.waitFor(() => expect(markUsed).toHaveBeenCalledTimes(8), PATIENCE);
    for (const client of clients) client.destroy();
    // What the server answers later, it has read later.
    expect(await get('/v1/runs', bearer(OWNER))).toBe(200);
    proceed();
    await held;
    markUsed.mockRestore();
    const answer = await fetch(`${url}/v1/runs`, {
      headers: bearer(token),
      signal: AbortSignal.timeout(PATIENCE.timeout),
    });
    expect(answer.status).toBe(200);
  });

  it('replays one attempt at a time; another user waits until the server has a place', async () => {
    const { host } = home;
    const runId = await home.addRun([{ ...created(), user: 'ann' }]);
    const replayTurns = new UserTurns({ what: 'replay', slots: 1, max: 1 });
    let end = () => undefined as void;
    const running = replayTurns.run('ann', () => new Promise<void>((resolve) => (end = resolve)));
    const replayAs = (name: string) => {
      const caller = { name, role: 'operator' } as const;
      const context = {
        host,
        store: openStore(host.home, { transcribe: () => [] }),
        remote: true,
        caller,
        replayTurns,
      };
      return OPERATIONS.replay
        .run(context as never, { runId, story: 'none', attempt: undefined })
        .catch((error: unknown) => error);
    };
    expect(await replayAs('ann')).toMatchObject({ code: 'TOO_MANY_REQUESTS' });
    // Whichever comes first waits for the place, and the other one is refused.
    const bens = [replayAs('ben'), replayAs('ben')];
    expect(await Promise.race(bens)).toMatchObject({ code: 'TOO_MANY_REQUESTS' });
    end();
    await running;
    // There is no such attempt, which is found out when it is the turn of the user.
    const codes = (await Promise.all(bens)).map((error) => (error as HaloError).code);
    expect(codes.sort()).toEqual(['STORY_NOT_FOUND', 'TOO_MANY_REQUESTS']);
  });

  it('who validates many PRDs is refused before the thread of the server has no time for others', async () => {
    await serve();
    const [ann, ben] = [await addUser('ann'), await addUser('ben')];
    const userStories = Array.from({ length: 600 }, (_, at) => ({ id: `S-${at}`, title: 'T' }));
    const validate = async (token: string) => {
      const prd = { path: 'prd.json', content: Buffer.from(JSON.stringify({ userStories })).toString('base64') };
      const headers = { ...bearer(token), 'content-type': 'application/json' };
      const body = JSON.stringify({ prd });
      return (await fetch(`${url}/v1/prds/validate`, { method: 'POST', headers, body })).status;
    };
    const many = Array.from({ length: 12 }, () => validate(ann));
    expect(await validate(ben)).toBe(200);
    const statuses = await Promise.all(many);
    expect(new Set(statuses)).toEqual(new Set([200, 429]));
  });
});
