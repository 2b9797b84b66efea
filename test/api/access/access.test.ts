import { readFile, rm, writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { afterAll, afterEach, beforeAll, beforeEach, describe, expect, it, onTestFinished, test, vi } from 'vitest';
import { grantOf, mayUseRepository, ROLES, type Role } from '../../../src/core/access/access.ts';
import { hashToken, makeSessionSecrets } from '../../../src/api/access/access-token.ts';
import { Authenticator } from '../../../src/api/access/authenticate.ts';
import type { Credential } from '../../../src/api/access/credential.ts';
import { assertMayUse } from '../../../src/api/access/authorize.ts';
import { Users } from '../../../src/api/access/users.ts';
import type { AccessEvent } from '../../../src/core/access/access-event.ts';
import { AccessLog } from '../../../src/store/access/access-log.ts';
import { UserFiles } from '../../../src/store/access/user-files.ts';
import { openHttp } from '../../../src/api/http/http-client.ts';
import { serveApi, type Served } from '../../../src/api/http/serve-api.ts';
import { ALL_OPERATIONS } from '../../../src/api/operations.ts';
import { pathKeys, type AnyOperation } from '../../../src/api/operations/operation.ts';
import type { Operations } from '../../../src/api/operations.ts';
import { openScriptedHome, type ScriptedHome } from '../../support/halo/scripted-home.ts';
import { created } from '../../support/journal.ts';
import { tempDir } from '../../support/temp-dir.ts';
import { PATIENCE } from '../../support/patience.ts';

const TOKEN = 'a-token-of-the-test';
const SHOP = '/home/me/shop';
const SITE = '/home/me/site';

let home: ScriptedHome;
let served: Served;
let owner: Operations;
const tokens = {} as Record<Role, string>;

beforeAll(async () => {
  home = openScriptedHome();
  served = await serveApi({
    operations: home.operations,
    listen: '127.0.0.1:0',
    host: { ...home.host, apiToken: TOKEN },
  });
  owner = openHttp({ url: served.url, token: TOKEN });
  for (const role of ROLES) tokens[role] = await addUser(role, role);
});
afterAll(async () => {
  await served.close();
  await home.remove();
});

async function addUser(name: string, role: Role, repositories?: string[]): Promise<string> {
  await owner.addUser({ name, role, ...(repositories && { repositories }) });
  return (await owner.createToken({ name })).token;
}

const as = (token: string) => openHttp({ url: served.url, token });

/** The run of `user` that no request has changed yet. */
const unchanged = new Map<string, Promise<string>>();

function runOf(user: string): Promise<string> {
  const runId = unchanged.get(user) ?? addRun(user);
  unchanged.set(user, runId);
  return runId;
}

/** A run that `user` has submitted. */
function addRun(user: string, source = SHOP): Promise<string> {
  const entry = created();
  return home.addRun([{ ...entry, user, repo: { ...entry.repo, source } }]);
}

/** Sends a request with the example of the operation, which concerns nothing that exists but `runId`. */
async function send(operation: AnyOperation, token: string, runId: string): Promise<{ status: number; code?: string }> {
  const keys: Record<string, string> = { runId, path: 'none', name: 'none', id: 'none' };
  const path = pathKeys(operation).reduce(
    (all, key) => all.replace(new RegExp(`\\{${key}\\*?\\}`), keys[key]!),
    operation.path,
  );
  const body = { ...operation.example, ...('repos' in (operation.example ?? {}) && { repos: ['/none'] }) };
  const query = new URLSearchParams();
  for (const [name, value] of Object.entries(operation.example ?? {})) query.set(name, String(value));
  // Streams end.
  query.delete('follow');
  const response = await fetch(`${served.url}${path}${operation.method === 'GET' ? `?${query.toString()}` : ''}`, {
    method: operation.method,
    headers: { authorization: `Bearer ${token}`, 'content-type': 'application/json' },
    ...(operation.method === 'POST' && { body: JSON.stringify(body) }),
  });
  const text = await response.text();
  const code = /"code":"(\w+)"/.exec(text)?.[1];
  return { status: response.status, ...(code !== undefined && { code }) };
}

describe('the access of a user', () => {
  const cells = ALL_OPERATIONS.flatMap((operation) =>
    ROLES.map((role) => [operation.name, role, grantOf(role, operation.access), operation] as const),
  );
  test.each(cells)('%s as %s: %s', async (_name, role, grant, operation) => {
    const ask = async (user: string) => {
      const answer = await send(operation, tokens[role], await runOf(user));
      if (operation.method !== 'GET' && answer.status < 300) unchanged.delete(user);
      return answer;
    };
    const other = await ask('somebody');
    expect(other.status === 403, JSON.stringify(other)).toBe(grant !== 'all');
    expect(other.code === 'ACCESS_DENIED').toBe(grant !== 'all');
    expect(other.status).not.toBe(401);
    if (!operation.path.includes('{runId}')) return;
    const own = await ask(role);
    expect(own.status === 403, JSON.stringify(own)).toBe(grant === 'none');
  });
});

describe('a user with a list of repositories', () => {
  let number = 0;
  let name: string;
  let limited: Operations;
  let [visible, hidden] = ['', ''];

  beforeEach(async () => {
    name = `limited-${(number += 1)}`;
    limited = as(await addUser(name, 'admin', [SITE]));
    [visible, hidden] = [await addRun('ada', SITE), await addRun('ada', SHOP)];
  });

  const about = ALL_OPERATIONS.filter(({ path }) => path.includes('{runId}'));
  test.each(about.map((operation) => [operation.name, operation] as const))(
    '%s: a run of another repository does not exist',
    async (_name, operation) => {
      const { token } = await owner.createToken({ name });
      expect(await send(operation, token, hidden)).toMatchObject({ status: 404, code: 'RUN_NOT_FOUND' });
    },
  );

  it('sees only runs of these in lists and reports', async () => {
    expect((await limited.listRuns()).runs.map(({ runId }) => runId)).toContain(visible);
    expect((await limited.listRuns()).runs.every(({ repo }) => repo.source === SITE)).toBe(true);
    const newest = await limited.listRuns({ newest: 1 });
    expect(newest.runs.map(({ repo }) => repo.source)).toEqual([SITE]);
    const reported = await limited.reportAudit({ limit: 1000 });
    expect(new Set(reported.entries.map(({ repo }) => repo))).toEqual(new Set([SITE]));
  });

  it('cannot use operations that concern all repositories', async () => {
    const denied = { code: 'ACCESS_DENIED' };
    await expect(limited.listSnapshots().then(({ snapshots }) => snapshots)).rejects.toMatchObject(denied);
    await expect(limited.listUsers().then(({ users }) => users)).rejects.toMatchObject(denied);
    await expect(limited.resetBreaker({ key: 'provider:api.openai.com' }).then(({ key }) => key)).rejects.toMatchObject(
      denied,
    );
  });

  it('cannot submit, estimate or preview a run of another repository', async () => {
    const prd = { path: 'prd.json', bytes: Buffer.from('{"userStories":[{"id":"A","title":"A"}]}') };
    const options = { prd, profile: undefined, set: [], allowDirty: false };
    await expect(limited.submit({ ...options, repos: [SHOP] }).then(({ runs }) => runs)).rejects.toMatchObject({
      code: 'ACCESS_DENIED',
    });
    const request = { prd, profile: undefined, set: [], repo: SHOP, story: undefined };
    await expect(limited.previewPrompt(request)).rejects.toMatchObject({ code: 'ACCESS_DENIED' });
    await expect(limited.estimatePrd({ prd, repo: SHOP })).rejects.toMatchObject({ code: 'ACCESS_DENIED' });
    expect(await limited.estimatePrd({ prd, repo: SITE })).toMatchObject({ stories: 1 });
    await expect(limited.submit({ ...options, repos: [SITE] }).then(({ runs }) => runs)).rejects.not.toMatchObject({
      code: 'ACCESS_DENIED',
    });
  });

  it('sees all runs again when the list is removed', async () => {
    await owner.changeUser({ name, repositories: null });
    expect((await limited.listRuns()).runs.map(({ runId }) => runId)).toContain(hidden);
  });
});

describe('the patterns of repositories', () => {
  test.each([
    ['https://git.example.com/shop/*', 'https://git.example.com/shop/web.git', true],
    ['https://git.example.com/shop/web', 'https://git.example.com/shop/web.git', true],
    ['/srv/repos/site', '/srv/repos/site/', true],
    ['/srv/repos/site', '/srv/repos/site-2', false],
    ['/srv/*', '/srv/../etc', false],
    ['git@git.example.com:shop/*', 'git@git.example.com:shop/../other/web', false],
    ['https://git.example.com/a.b', 'https://git.example.com/aXb', false],
    ['ssh://git.example.com/shop/*', 'ssh://git.example.com/shop/%2e%2E/secret', false],
    ['ssh://git.example.com/shop/*', 'ssh://git.example.com/shop/..%2Fsecret', false],
    ['*', '/anything', true],
  ])('%s allows %s: %s', (pattern, source, allowed) => {
    expect(mayUseRepository({ repositories: [pattern] }, source)).toBe(allowed);
  });
});

test('the reason of a denial has no password of a URL', () => {
  const user = { name: 'ann', role: 'submitter', repositories: [SITE] } as const;
  const deny = () => assertMayUse(user, 'https://ada:q7-x@git.example.com/team/shop.git');
  expect(deny).toThrow('Access denied: https://git.example.com/team/shop.git is not one of the repositories of ann.');
});

describe('a token', () => {
  it('stops working immediately when it is revoked, its user is removed, or it expires', async () => {
    for (const [name, end] of [
      ['eve', async (id: string) => owner.revokeToken({ id })],
      ['mal', async () => owner.removeUser({ name: 'mal' })],
    ] as const) {
      await owner.addUser({ name, role: 'viewer' });
      const { token, id } = await owner.createToken({ name });
      expect((await as(token).listRuns()).runs).toBeInstanceOf(Array);
      await end(id);
      await expect(
        as(token)
          .listRuns()
          .then(({ runs }) => runs),
      ).rejects.toMatchObject({ code: 'API_REFUSED' });
    }
    await owner.addUser({ name: 'old', role: 'viewer' });
    const { token } = await owner.createToken({ name: 'old', expiresAt: new Date(Date.now() - 1000).toISOString() });
    await expect(
      as(token)
        .listRuns()
        .then(({ runs }) => runs),
    ).rejects.toMatchObject({ code: 'API_REFUSED' });
  });

  it('does not work again when a user of the name of its removed owner is added', async () => {
    const token = await addUser('twin', 'viewer');
    await owner.removeUser({ name: 'twin' });
    await expect(addUser('twin', 'admin')).rejects.toMatchObject({ code: 'CONFLICT' });
    await owner.addUser({ name: 'twin', role: 'admin', again: true });
    await expect(
      as(token)
        .listRuns()
        .then(({ runs }) => runs),
    ).rejects.toMatchObject({ code: 'API_REFUSED' });
  });

  it('is stored only as a hash, and its last use is shown', async () => {
    const token = await addUser('seen', 'viewer');
    await as(token).listRuns();
    const user = (await owner.listUsers()).users.find(({ name }) => name === 'seen')!;
    expect(user.tokens).toMatchObject([{ id: token.split('_')[1], usedAt: expect.any(String) as string }]);
    const stored = await readFile(`${home.host.home}/user-tokens/${user.tokens[0]!.id}.json`, 'utf8');
    expect(stored).not.toContain(token.slice(token.indexOf('_', token.indexOf('_') + 1) + 1));
  });

  it.each(['api-token', 'two words', '../x', ''])('cannot be made for the name %j', async (name) => {
    for (const { addUser } of [owner, home.operations])
      await expect(addUser({ name, role: 'viewer' })).rejects.toMatchObject({ code: 'USAGE' });
  });

  it('cannot act in the name of another user', async () => {
    const prd = { path: 'prd.json', bytes: Buffer.from('{"userStories":[{"id":"A","title":"A"}]}') };
    const request = { prd, profile: undefined, set: [], allowDirty: false, repos: ['/none'], user: 'admin' };
    await expect(
      as(tokens.operator)
        .submit(request)
        .then(({ runs }) => runs),
    ).rejects.toMatchObject({ code: 'ACCESS_DENIED' });
  });
});

describe('the access log', () => {
  it('has changes of users, sign-ins, refused tokens and denied operations', async () => {
    const token = await addUser('logged', 'viewer');
    await as(token).listRuns();
    const runId = await addRun('ada');
    await expect(as(token).pause({ runId, now: false })).rejects.toMatchObject({ code: 'ACCESS_DENIED' });
    await expect(
      as(`${token}x`)
        .listRuns()
        .then(({ runs }) => runs),
    ).rejects.toMatchObject({ code: 'API_REFUSED' });
    await owner.removeUser({ name: 'logged' });
    const events = (await owner.readAccessLog({ limit: 100 })).events.filter(
      ({ user, token: id }) => user === 'logged' || id === token.split('_')[1],
    );
    expect(events.map(({ type }) => type).reverse()).toEqual([
      'user.added',
      'token.created',
      'token.used',
      'operation.denied',
      'token.refused',
      'user.removed',
    ]);
    expect(events.find(({ type }) => type === 'operation.denied')).toMatchObject({ operation: 'pause' });
    expect(JSON.stringify(events)).not.toContain(token);
  });
});

describe('a refused token', () => {
  const NOW = new Date('2030-01-01T00:00:00.000Z');
  const AN_HOUR_AGO = '2030-01-01T00:30:00.000+01:30';

  /** The authenticator of an own home with a user ann, her token, and what the access log says when it is refused. */
  async function open(expiresAt?: string) {
    const dir = tempDir('halo-refused');
    const [users, files, log] = [new Users(dir), new UserFiles(dir), new AccessLog(dir)];
    await users.add({ name: 'ann', role: 'viewer' }, { by: 'owner', now: NOW });
    const { token } = await users.createToken('ann', expiresAt, { by: 'owner', now: NOW });
    const authenticator = new Authenticator({ ownerToken: TOKEN, users: files, log, now: () => NOW });
    const refusal = async (shown: string | Credential = token) => {
      const credential = typeof shown === 'string' ? ({ from: 'header', token: shown } as const) : shown;
      expect(await authenticator.identify(credential, 'here')).toBeUndefined();
      await authenticator.recordRefused(credential, 'here');
      return (await log.read({ limit: 1 }))[0];
    };
    return { dir, files, token, authenticator, refusal };
  }

  it('is recorded with the true reason', async () => {
    const expired = await open('2029-12-31T00:00:00.000Z');
    expect(await expired.refusal()).toMatchObject({ user: 'ann', reason: 'expired' });
    const gone = await open();
    await rm(join(gone.dir, 'users', 'ann.json'));
    expect(await gone.refusal()).toMatchObject({ user: 'ann', reason: 'its user was removed' });
    const forged = await open();
    expect(await forged.refusal(`${forged.token}x`)).toMatchObject({ reason: 'unknown' });
    const signedOut = await open();
    const { id, cookie, pageKey } = makeSessionSecrets();
    const session = { via: 'token', tokenId: 'gone0000', pageSha256: hashToken(pageKey) } as const;
    const record = { id, user: 'ann', sha256: hashToken(cookie), createdAt: '', createdBy: 'ann', session };
    await signedOut.files.writeToken(record);
    const shown = { from: 'page', pageKey, cookies: ['of another program', cookie] } as const;
    expect(await signedOut.refusal(shown)).toMatchObject({ user: 'ann', reason: 'the token of its sign-in has ended' });
  });

  it('has expired by its time, however that is written', async () => {
    expect(await (await open(AN_HOUR_AGO)).refusal()).toMatchObject({ reason: 'expired' });
    const later = await open('2029-12-31T23:30:00.000-01:30');
    expect(await later.authenticator.identify({ from: 'header', token: later.token }, 'here')).toMatchObject({
      kind: 'user',
    });
    expect(await (await open('not a time')).refusal()).toMatchObject({ reason: 'expired' });
  });
});

describe('a flood of denials', () => {
  beforeEach(() => void vi.useFakeTimers({ toFake: ['setTimeout'] }));
  afterEach(() => void vi.useRealTimers());

  const denial = (more: Partial<AccessEvent> = {}): AccessEvent => ({
    ...{ at: '2030-01-01T00:00:00.000Z', type: 'operation.denied', user: 'mal', operation: 'land', reason: 'no' },
    ...more,
  });

  it('is one line, and then their number', async () => {
    const dir = tempDir('halo-flood');
    const logs = [1, 2].map(() => new AccessLog(dir));
    for (let count = 0; count < 500; count += 1) await logs[count % 2]!.append(denial());
    await logs[0]!.append(denial({ user: 'eve' }));
    const read = async () => (await logs[0]!.read({ limit: 1_000 })).map(({ user, count }) => [user, count]);
    expect(await read()).toEqual([
      ['eve', undefined],
      ['mal', undefined],
    ]);
    vi.advanceTimersByTime(60_000);
    await vi.waitFor(
      async () =>
        expect(await read()).toEqual([
          ['mal', 499],
          ['eve', undefined],
          ['mal', undefined],
        ]),
      PATIENCE,
    );
  });

  it('is bounded, although each one differs', async () => {
    const log = new AccessLog(tempDir('halo-flood'));
    for (let count = 0; count < 500; count += 1) await log.append(denial({ reason: `no ${count}` }));
    const read = () => log.read({ limit: 1_000 });
    vi.advanceTimersByTime(60_000);
    await vi.waitFor(async () => expect((await read())[0]?.count).toBeGreaterThan(400), PATIENCE);
    const events = await read();
    expect(events.length).toBeLessThan(20);
    expect(events.reduce((sum, { count = 1 }) => sum + count, 0)).toBe(500);
  });

  it('hides no change of users', async () => {
    const log = new AccessLog(tempDir('halo-flood'));
    for (let count = 0; count < 5; count += 1)
      await log.append({ at: '2030-01-01T00:00:00.000Z', type: 'user.added', user: 'mal' });
    expect(await log.read({ limit: 100 })).toHaveLength(5);
  });
});

describe('an open stream', () => {
  it('ends when it cannot be confirmed that its token is valid', async () => {
    vi.useFakeTimers({ toFake: ['setInterval'] });
    onTestFinished(() => void vi.useRealTimers());
    const token = await addUser('lost', 'viewer');
    const runId = await addRun('ada');
    const response = await fetch(`${served.url}/v1/runs/${runId}/events?follow=true`, {
      headers: { authorization: `Bearer ${token}` },
    });
    expect(response.status).toBe(200);
    const reader = response.body!.getReader();
    expect((await reader.read()).done).toBe(false);
    await writeFile(`${home.host.home}/user-tokens/${token.split('_')[1]}.json`, 'damaged');
    vi.advanceTimersByTime(5_000);
    const ended = async () => {
      while (!(await reader.read()).done);
    };
    await expect(ended()).rejects.toThrow('terminated');
  });
});

describe('the limit of requests', () => {
  it('applies to each token of a user, and not to the token of the server', async () => {
    const limited = await serveApi({
      operations: home.operations,
      listen: '127.0.0.1:0',
      host: { ...home.host, apiToken: TOKEN },
      rules: { requestsPerMinute: 3 },
    });
    try {
      const [one, two] = [await addUser('fast', 'viewer'), await addUser('slow', 'viewer')];
      const list = (token: string) =>
        openHttp({ url: limited.url, token })
          .listRuns()
          .then(({ runs }) => runs);
      for (let count = 0; count < 3; count += 1) await list(one);
      await expect(list(one)).rejects.toMatchObject({ code: 'TOO_MANY_REQUESTS' });
      await list(two);
      for (let count = 0; count < 5; count += 1) await list(TOKEN);
    } finally {
      await limited.close();
    }
  });

  it('ends the record of wrong tokens from one address, and leaves valid tokens of it alone', async () => {
    // Of its own: the other tests come from the same address.
    const limited = await serveApi({
      operations: home.operations,
      listen: '127.0.0.1:0',
      host: { ...home.host, apiToken: TOKEN },
    });
    onTestFinished(() => limited.close());
    const list = (token: string) => openHttp({ url: limited.url, token }).listRuns();
    const codes = new Set<string>();
    for (let count = 0; count < 40; count += 1)
      await list('halo_aaaaaaaa_' + 'x'.repeat(43))
        .then(({ runs }) => runs)
        .catch(({ code }: { code: string }) => codes.add(code));
    expect(codes).toEqual(new Set(['API_REFUSED', 'TOO_MANY_REQUESTS']));
    expect((await list(tokens.viewer)).runs).toBeInstanceOf(Array);
    const refused = (await owner.readAccessLog({ limit: 1000 })).events.filter(({ token }) => token === 'aaaaaaaa');
    expect(refused.length).toBeLessThanOrEqual(30);
  });
});
