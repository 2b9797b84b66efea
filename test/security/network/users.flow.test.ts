import { mkdirSync, readdirSync, readFileSync, statSync, symlinkSync, writeFileSync } from 'node:fs';
import { request } from 'node:http';
import { join } from 'node:path';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { openHttp } from '../../../src/api/http/http-client.ts';
import type { Operations } from '../../../src/api/operations.ts';
import { openHome, type HaloHome } from '../../support/halo/halo-process.ts';
import { openScriptedHome, type ScriptedHome } from '../../support/halo/scripted-home.ts';
import type { JournalEntry } from '../../../src/core/journal/events.ts';
import { created } from '../../support/journal.ts';
import { connectHttp } from '../../support/mcp-client.ts';
import type { TestRepository } from '../../support/repository/repository.ts';
import { newRepository } from '../../support/repository/new-repository.ts';
import { casesAtLevel } from '../../support/suite/level.ts';
import { tempDir } from '../../support/temp-dir.ts';

import { BORROWED } from '../git/borrowed-repositories.ts';

/** Users of a server against its other users, and strangers against their tokens, on a real `halo serve`. */

const HIDDEN = '0tbq1aaaaaaaaaaa';
const OWN = '0tbq2bbbbbbbbbbb';

let home: ScriptedHome;
let processes: HaloHome;
let url = '';
let owner: Operations;
let shop: TestRepository;
let site: TestRepository;
const prd = { path: 'prd.json', bytes: Buffer.from('{"userStories":[{"id":"A","title":"A"}]}') };
const submit = { prd, profile: undefined, set: ['gates=["true"]'], allowDirty: false };

beforeAll(async () => {
  home = openScriptedHome();
  processes = openHome();
  const dir = home.host.home;
  const server = processes.start(['serve', '--listen', '127.0.0.1:0'], { cwd: dir, env: { HALO_HOME: dir } });
  await server.says('token ');
  url = /api +(\S+)/.exec(server.stdout())?.[1] ?? '';
  owner = openHttp({ url, token: readFileSync(join(dir, 'api-token'), 'utf8').trim() });
  [shop, site] = [newRepository({ 'halo.toml': 'gates = ["true"]\n' }, 'shop'), newRepository({}, 'site')];
  for (const [id, repository] of [
    [HIDDEN, shop],
    [OWN, site],
  ] as const) {
    const entry = created(id);
    await home.addRun([{ ...entry, user: 'ada', repo: { ...entry.repo, source: repository.root } }]);
  }
  former = { ...(await revokeStream()), ...(await moveStream()), ...(await revokeWaiting()) };
});
afterAll(async () => {
  await processes.close();
  await home.remove();
});

/** How the open requests of users end who lose their token or repository before the first test. */
let former: { revoked: Promise<unknown>; moved: Promise<unknown>; waiting: Promise<{ text: string; ms: number }> };

/** Opens a stream of a new user. Returns the user, and how the stream ends. */
async function openStream() {
  const user = await addUser('viewer');
  const events = await user.operations.followEvents({ runId: OWN, after: 0, follow: true });
  expect((await events.next()).done).toBe(false);
  const end = (async () => {
    for await (const event of events) void event;
  })();
  return { user, end: end.then(() => 'ended', (error: unknown) => error) }; // prettier-ignore
}

async function revokeStream() {
  const { user, end } = await openStream();
  await owner.revokeToken({ id: user.id });
  return { revoked: end };
}

async function moveStream() {
  const { user, end } = await openStream();
  await owner.changeUser({ name: user.name, repositories: [shop.root] });
  return { moved: end };
}

async function revokeWaiting() {
  const { token, id } = await addUser('viewer');
  const mcp = await connectHttp(url, token);
  const runId = '0sbq4dddddddddd';
  const entry = created(runId);
  await home.addRun([{ ...entry, repo: { ...entry.repo, source: site.root } }]);
  const began = performance.now();
  const wait = mcp.call('halo_wait', { runId, seconds: 50 });
  const waiting = wait.then(String, String).then((text) => ({ text, ms: performance.now() - began }));
  // The request has arrived before the token is revoked.
  await owner.listRuns();
  await owner.revokeToken({ id });
  return { waiting };
}

const REPLANNED = { prd: created(OWN).prd, prdPath: '-', changed: [] };

let count = 0;
async function addUser(role: 'viewer' | 'submitter' | 'operator' | 'admin', repositories?: string[]) {
  const name = `user-${(count += 1)}`;
  await owner.addUser({ name, role, ...(repositories && { repositories }) });
  const { token, id } = await owner.createToken({ name });
  return { name, token, id, operations: openHttp({ url, token }) };
}

/** A run with approval of every story by `others`, and its id. */
async function addGuardedRun(user: string, later: JournalEntry[] = []): Promise<string> {
  const runId = `0tbq3ccccccccc${String((count += 1)).padStart(2, '0')}`;
  const entry = created(runId);
  await home.addRun([{ ...entry, user, repo: { ...entry.repo, source: site.root } }, ...later]);
  const path = join(home.host.home, 'runs', runId, 'run.json');
  const record = JSON.parse(readFileSync(path, 'utf8')) as { config: { approval: object } };
  const config = { ...record.config, approval: { mode: 'story', by: 'others' } };
  writeFileSync(path, JSON.stringify({ ...record, config }));
  return runId;
}

describe('incident borrowed-repository: a repository of a user has files of another one', () => {
  // All of them are also in test/security/git/repository-places.program.test.ts.
  const rows = Object.entries(BORROWED);
  it.each(casesAtLevel(rows.slice(0, 1), rows.slice(1)))('%s does not lead to it', async (_, borrow) => {
    const folder = tempDir('halo-borrowed');
    const repo = join(folder, 'x');
    borrow(repo, shop);
    const { operations } = await addUser('submitter', [`${folder}/*`]);
    await expect(operations.submit({ ...submit, repos: [repo] }).then(({ runs }) => runs)).rejects.toMatchObject({
      code: 'ACCESS_DENIED',
    });
    expect(shop.git('branch', '--list', 'halo/*')).toBe('');
  });

  it('what a .git file names looks the same whether it exists or not', async () => {
    const folder = tempDir('halo-borrowed');
    const { operations } = await addUser('submitter', [`${folder}/*`]);
    const messages = ['/root/.ssh', '/root/none'].map(async (target, index) => {
      const repo = join(folder, String(index));
      mkdirSync(repo);
      writeFileSync(join(repo, '.git'), `gitdir: ${target}\n`);
      return operations
        .submit({ ...submit, repos: [repo] })
        .then(({ runs }) => runs)
        .catch(({ message }: Error) => message.replace(target, ''));
    });
    expect(new Set(await Promise.all(messages)).size).toBe(1);
  });
});

describe('incident user-access: a user of a server reaches for what belongs to others', () => {
  it('part of the id of a hidden run, and of all ids, finds only visible runs', async () => {
    const { operations } = await addUser('admin', [site.root]);
    for (const part of [HIDDEN, HIDDEN.slice(0, 6), '0tbq1'])
      await expect(operations.getRun({ runId: part })).rejects.toMatchObject({
        code: 'RUN_NOT_FOUND',
        message: `No run matches "${part}".`,
      });
    for (const part of [OWN, '0tbq']) expect((await operations.getRun({ runId: part })).state.runId).toBe(OWN);
    await expect(
      operations.submit({ ...submit, repos: [site.root], after: [HIDDEN] }).then(({ runs }) => runs),
    ).rejects.toMatchObject({
      code: 'RUN_NOT_FOUND',
    });
  });

  it('a link, a dotted path and a folder below do not lead to another repository', async () => {
    const folder = tempDir('halo-links');
    symlinkSync(shop.root, join(folder, 'link'));
    mkdirSync(join(folder, 'sub'));
    const { operations } = await addUser('submitter', [`${folder}/*`, site.root]);
    for (const repo of [join(folder, 'link'), `${site.root}/../${shop.root.split('/').at(-1)!}`, shop.root])
      await expect(operations.submit({ ...submit, repos: [repo] }).then(({ runs }) => runs)).rejects.toMatchObject({
        code: 'ACCESS_DENIED',
      });
    const messages = await Promise.all(
      ['/root/.ssh', '/root/none'].map((repo) =>
        operations
          .submit({ ...submit, repos: [repo] })
          .then(({ runs }) => runs)
          .catch(({ message }: Error) => message.replace(repo, '')),
      ),
    );
    expect(new Set(messages).size, 'what exists looks like what does not').toBe(1);
  });

  it('the idempotency key of another user returns nothing of their runs', async () => {
    const [one, two] = [await addUser('submitter'), await addUser('submitter')];
    const request = { ...submit, repos: [shop.root], key: 'nightly' };
    const [first] = (await one.operations.submit(request)).runs;
    const [second] = (await two.operations.submit(request)).runs;
    const [again] = (await one.operations.submit(request)).runs;
    expect(second?.runId).not.toBe(first?.runId);
    expect(again?.runId).toBe(first?.runId);
  });

  it('a submit in the name of another user, and a role change by oneself, are denied', async () => {
    const { operations, name } = await addUser('operator');
    for (const work of [
      () => operations.submit({ ...submit, repos: [shop.root], user: 'ada' }).then(({ runs }) => runs),
      () => operations.changeUser({ name, role: 'admin' }),
      () => operations.createToken({ name }),
    ])
      await expect(work()).rejects.toMatchObject({ code: 'ACCESS_DENIED' });
  });

  it('MCP gives a user no more than HTTP', async () => {
    const viewer = await addUser('viewer');
    const limited = await addUser('admin', [site.root]);
    const mcp = await connectHttp(url, viewer.token);
    expect(await mcp.refusal('halo_pause', { runId: OWN })).toMatchObject({ code: 'ACCESS_DENIED' });
    await mcp.close();
    const other = await connectHttp(url, limited.token);
    const runs = JSON.stringify(await other.call('halo_runs', {}));
    expect(runs).toContain(OWN);
    expect(runs).not.toContain(HIDDEN);
    await other.close();
  });

  it.each<[string, (name: string) => { user: string; later?: JournalEntry[] }]>([
    ['the submitter of a run', (name) => ({ user: name })],
    ['the submitter of a run by MCP', (name) => ({ user: `${name} by MCP` })],
    ['who replaced its plan', (by) => ({ user: 'ben', later: [{ type: 'run.replanned', by, ...REPLANNED }] })],
    [
      'who replaced its plan by MCP',
      (name) => ({ user: 'ben', later: [{ type: 'run.replanned', by: `${name} by MCP`, ...REPLANNED }] }),
    ],
    [
      'who changed its gates',
      (by) => ({ user: 'ben', later: [{ type: 'run.reconfigured', by, set: ['gates=["true"]'], change: {} }] }),
    ],
  ])('%s cannot approve it with approval.by = "others", but other users can', async (_, by) => {
    const author = await addUser('operator');
    const { user, later } = by(author.name);
    const runId = await addGuardedRun(user, later);
    const approve = ({ operations }: typeof author) =>
      operations.approve({ runId, story: 'US-001' }).catch((error: unknown) => (error as Error).message);
    expect(await approve(author)).toContain('approval.by = "others"');
    // Nothing has been made yet that could be approved.
    expect(await approve(await addUser('operator'))).not.toContain('approval.by');
  });
});

describe('incident user-token: strangers and former users with a token', () => {
  it('the password in a URL that a user may not use is in no answer and no file', async () => {
    const { operations, name } = await addUser('submitter', [site.root]);
    const secret = 'q7-x';
    const repo = `https://ada:${secret}@1.1.1.1/team/shop.git`;
    for (const call of [
      () => operations.submit({ ...submit, repos: [repo] }).then(({ runs }) => runs),
      () => operations.previewPrompt({ prd, profile: undefined, set: [], repo, story: undefined }),
    ]) {
      const error = await call().catch((thrown: unknown) => String(thrown));
      expect(error).toContain('1.1.1.1/team/shop.git is not one of the repositories');
      expect(error).not.toContain(secret);
    }
    const [denied] = (await owner.readAccessLog({ limit: 50 })).events.filter(({ user }) => user === name);
    expect(denied).toMatchObject({ type: 'operation.denied' });
    expect(readFileSync(join(home.host.home, 'access.jsonl'), 'utf8')).not.toContain(secret);
  });

  it('no file of the home contains a token, and an answer that repeats one is masked', async () => {
    const { token, operations } = await addUser('submitter');
    await operations.listRuns();
    const text = await operations
      .submit({ ...submit, repos: [`/srv/${token}`] })
      .then(({ runs }) => runs)
      .catch(String);
    expect(text).not.toContain(token);
    const files = readdirSync(home.host.home, { recursive: true, withFileTypes: true }).filter((each) => each.isFile());
    for (const { parentPath, name } of files)
      expect(readFileSync(join(parentPath, name), 'latin1'), name).not.toContain(token.slice(14));
    for (const folder of ['users', 'user-tokens'])
      expect(statSync(join(home.host.home, folder)).mode & 0o077, folder).toBe(0);
  });

  it('forged headers of a proxy do not change the host that is checked', async () => {
    const status = await new Promise<number | undefined>((resolve, reject) => {
      const { hostname, port } = new URL(url);
      const headers = { host: 'evil.example', 'x-forwarded-host': 'localhost', authorization: 'Bearer x' };
      request({ hostname, port, path: '/v1/runs', headers }, (response) => resolve(response.statusCode))
        .on('error', reject)
        .end();
    });
    expect(status).toBe(403);
  });

  it('the name of a removed user, to which runs belong, is given to no other by mistake', async () => {
    const { name } = await addUser('submitter');
    await owner.removeUser({ name });
    await expect(owner.addUser({ name, role: 'viewer' })).rejects.toMatchObject({ code: 'CONFLICT' });
    await owner.addUser({ name, role: 'viewer', again: true });
    expect((await owner.listUsers()).users.find((user) => user.name === name)).toMatchObject({
      role: 'viewer',
      tokens: [],
    });
  });

  it('an address that a client claims for itself is not believed', async () => {
    const headers = { authorization: 'Bearer halo_forged00_x', 'x-forwarded-for': '203.0.113.9' };
    const response = await fetch(`${url}/v1/runs`, { headers });
    expect([response.status, response.headers.get('www-authenticate')]).toEqual([401, 'Bearer realm="halo"']);
    expect((await owner.readAccessLog({ limit: 1 })).events[0]).toMatchObject({
      type: 'token.refused',
      from: '127.0.0.1',
    });
  });

  it('a damaged token file and a whole token in place of its id do not keep tokens from being revoked', async () => {
    const [damaged, other] = [await addUser('viewer'), await addUser('viewer')];
    writeFileSync(join(home.host.home, 'user-tokens', `${damaged.id}.json`), 'damaged');
    expect((await owner.listUsers()).users.map(({ name }) => name)).toEqual(
      expect.arrayContaining([damaged.name, other.name]),
    );
    await owner.removeUser({ name: damaged.name });
    expect(await owner.revokeToken({ id: other.token })).toEqual({ id: other.id, user: other.name });
    await expect(other.operations.listRuns().then(({ runs }) => runs)).rejects.toMatchObject({ code: 'API_REFUSED' });
  });

  it('the secret of one token with the id of another is refused', async () => {
    const [one, two] = [await addUser('viewer'), await addUser('admin')];
    const forged = one.token.replace(one.id, two.id);
    await expect(
      openHttp({ url, token: forged })
        .listRuns()
        .then(({ runs }) => runs),
    ).rejects.toMatchObject({ code: 'API_REFUSED' });
  });
});

/** The server looks every five seconds whether the token of a stream is still valid: until here, it had the time of the other tests. */
describe('incident user-token: open streams of former users', () => {
  it('an open stream ends when its token is revoked', async () => {
    expect(await former.revoked).toMatchObject({ code: 'API_REFUSED' });
  });

  it('an open stream ends when its user may no longer use the repository', async () => {
    expect(await former.moved).toMatchObject({ code: 'RUN_NOT_FOUND' });
  });

  it('an open request of an MCP client ends when its token is revoked', async () => {
    const { text, ms } = await former.waiting;
    expect(text).toContain('Error');
    expect(text).not.toContain('API token');
    expect(ms).toBeLessThan(40_000);
  });
});
