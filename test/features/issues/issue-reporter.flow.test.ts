import { readdirSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { pino } from 'pino';
import { afterAll, beforeAll, beforeEach, describe, expect, onTestFinished, test, vi } from 'vitest';
import { FORGES, type ForgeName } from '../../../src/core/forge-name.ts';
import type { JournalEntry } from '../../../src/core/journal/events.ts';
import { openMasker } from '../../../src/lib/secrets/masker.ts';
import { connectRedis } from '../../../src/queue/redis/connect-redis.ts';
import { openQueue, type StoryQueue } from '../../../src/queue/queue.ts';
import { IssueReportFiles } from '../../../src/store/forge-files.ts';
import { openStore, type Store } from '../../../src/store/store.ts';
import { checkReports } from '../../../src/features/issues/api/check-reports.ts';
import { findPendingReports, IssueReporter } from '../../../src/features/issues/worker/issue-reporter.ts';
import { FAKE_PROJECT, openFakeForge, type FakeForge } from '../../support/forge/fake-forge.ts';
import { hostOf } from '../../support/halo/host.ts';
import { attempted, COMMIT, created, failed, held, passed } from '../../support/journal.ts';
import { openRedisServer, type RedisServer } from '../../support/redis/redis-server.ts';
import { tempDir } from '../../support/temp-dir.ts';

const origin = { haloVersion: '0.1.0', agent: { name: 'codex' }, args: [], config: {} };
const END = { type: 'run.ended', stopReason: 'SUCCESS', detail: 'Done.' } as const;
const DAY_MS = 86_400_000;

let redis: RedisServer;
let queue: StoryQueue;
let close: () => Promise<void>;
/** The id of the worker that reports now. */
let leaseHolder: () => Promise<string>;
/** For how long it may report without renewing its lease. */
let leaseMs: () => Promise<number>;
beforeAll(async () => {
  redis = await openRedisServer();
  const link = await connectRedis(hostOf(tempDir('halo-reports'), redis.url));
  queue = await openQueue(link);
  const lease = `${link.prefix}:lease:issue-reporter`;
  leaseHolder = async () => (await link.client.get(lease)) ?? '';
  leaseMs = () => link.client.pttl(lease);
  close = async () => {
    await queue.close();
    await link.close();
    await redis.close();
  };
});
afterAll(() => close());

let home: string;
let store: Store;
let now: number;
beforeEach(() => {
  home = tempDir('halo-reports');
  store = openStore(home, { transcribe: () => [] });
  now = Date.now();
});

async function openForge(kind: ForgeName, settings = 'report = true'): Promise<FakeForge> {
  const forge = await openFakeForge(kind);
  onTestFinished(() => forge.close());
  writeFileSync(
    join(home, 'config.toml'),
    `[forge.${kind}]\nurl = "${forge.url}"\ntoken_env = "FORGE_TOKEN"\n[issues]\n${settings}\n`,
  );
  return forge;
}

/** A run whose only story is issue 42, with these events. */
async function addRun(forge: FakeForge, kind: ForgeName, ...entries: JournalEntry[]): Promise<string> {
  return addRunOf(created(undefined, 1), forge, { kind, entries });
}

async function addRunOf(
  first: ReturnType<typeof created>,
  forge: FakeForge,
  { kind, entries }: { kind: ForgeName; entries: JournalEntry[] },
): Promise<string> {
  forge.add({ number: 42 });
  const prd = { ...first.prd, stories: first.prd.stories.map((story) => ({ ...story, id: '#42' })) };
  await store.createRun({ ...first, prd, issues: { forge: kind, project: FAKE_PROJECT, label: 'halo' } }, origin);
  await new IssueReportFiles(home).add(first.runId);
  await store.append(first.runId, [{ type: 'run.started' }, ...entries]);
  return first.runId;
}

/** A worker that starts, reports once and ends. */
async function report(forge: FakeForge): Promise<void> {
  const log = pino({ level: 'silent' });
  const env = { FORGE_TOKEN: forge.token };
  const context = { home, store, log, now: () => now, env, masker: openMasker() };
  await new IssueReporter(context, queue, undefined).close();
}

/** What the journal of a run says about its reports. */
async function reported(runId: string): Promise<string[]> {
  const statuses: string[] = [];
  for await (const event of store.follow(runId, { after: 0, follow: false }))
    if (event.type === 'issue.reported') statuses.push(event.status);
  return statuses;
}

const pending = () => readdirSync(join(home, 'issue-reports'));
const writes = ({ log }: FakeForge) => log.filter((line) => !line.startsWith('GET'));

describe.each(FORGES)('an issue of %s', (kind) => {
  test('has a label while its story runs, then another one and a comment', async () => {
    const forge = await openForge(kind);
    const runId = await addRun(forge, kind, ...attempted('#42'));
    await report(forge);
    const issue = forge.issues.get(42)!;
    expect(issue).toMatchObject({ labels: ['halo', 'halo:in-progress'], comments: [], state: 'open' });
    await store.append(runId, [...passed('#42').slice(-1), END]);
    await report(forge);
    expect(issue.labels).toEqual(['halo', 'halo:done']);
    expect(issue.comments).toHaveLength(1);
    expect(issue.comments[0]).toContain(`commit \`${COMMIT.slice(0, 12)}\` on the branch \`halo/${runId}\``);
    expect(issue.state).toBe('open');
    expect(pending()).toEqual([]);
    expect(await reported(runId)).toEqual(['running', 'landed']);
  });

  test('stays as it is in a dry run', async () => {
    const forge = await openForge(kind);
    await addRunOf({ ...created(undefined, 1), dry: true }, forge, { kind, entries: [...passed('#42'), END] });
    await report(forge);
    expect(writes(forge)).toEqual([]);
    expect(forge.issues.get(42)).toMatchObject({ labels: ['halo'], comments: [] });
    expect(pending()).toEqual([]);
  });

  test('says that its story failed, or waits for approval', async () => {
    const forge = await openForge(kind);
    await addRun(forge, kind, ...failed('#42'));
    await report(forge);
    expect(forge.issues.get(42)).toMatchObject({ labels: ['halo', 'halo:failed'] });
    forge.issues.clear();
    const runId = await addRun(forge, kind, ...held('#42'));
    await report(forge);
    const issue = forge.issues.get(42)!;
    expect(issue.labels).toEqual(['halo', 'halo:waiting']);
    expect(issue.comments[0]).toContain(`halo show ${runId}`);
  });

  test('is closed once the default branch has its commit, if issues.close is set', async () => {
    const forge = await openForge(kind, 'report = true\nclose = true');
    const runId = await addRun(forge, kind, ...passed('#42'), END);
    await report(forge);
    expect(forge.issues.get(42)!.state).toBe('open');
    expect(pending()).toEqual([`${runId}.json`]);
    forge.landed.add(COMMIT);
    await report(forge);
    expect(forge.issues.get(42)).toMatchObject({ state: 'closed', comments: [expect.stringContaining('implemented')] });
    expect(pending()).toEqual([]);
    await report(forge);
    expect(await reported(runId)).toEqual(['landed', 'closed']);
  });

  test('is commented once, even if the forge accepted the comment without an answer', async () => {
    const forge = await openForge(kind);
    const runId = await addRun(forge, kind, ...passed('#42'), END);
    let drops = 0;
    forge.fault = (request) =>
      /^POST .*(?:comments|notes)/.test(request) && drops++ === 0 ? { drop: 'after' } : undefined;
    await report(forge);
    expect(forge.issues.get(42)!.comments).toHaveLength(1);
    expect(pending()).toEqual([`${runId}.json`]);
    await report(forge);
    expect(forge.issues.get(42)).toMatchObject({ labels: ['halo', 'halo:done'], comments: [expect.anything()] });
    expect(pending()).toEqual([]);
  });
});

test('hazard 58: while the forge limits requests, one request is made for all issues of a run, and the report waits', async () => {
  const forge = await openForge('github');
  const first = created(undefined, 3);
  const numbers = ['#41', '#42', '#43'];
  const stories = first.prd.stories.map((story, index) => ({ ...story, id: numbers[index]! }));
  const issues = { forge: 'github', project: FAKE_PROJECT, label: 'halo' } as const;
  await store.createRun({ ...first, prd: { ...first.prd, stories }, issues }, origin);
  await new IssueReportFiles(home).add(first.runId);
  await store.append(first.runId, [{ type: 'run.started' }, ...numbers.flatMap((id) => passed(id))]);
  let requests = 0;
  forge.fault = () => ((requests += 1), { status: 429, headers: { 'retry-after': '1200' } });
  await report(forge);
  expect(requests).toBe(1);
  const waiting = await findPendingReports({ home, env: {} }, await store.readState(first.runId));
  expect(waiting).toMatchObject({ stories: numbers, retryAt: new Date(now + 1_200_000).toISOString() });
});

describe.each(FORGES)('reports to an issue of %s', (kind) => {
  test('have the configured labels, and leave the label of the run', async () => {
    const labels = '[issues.labels]\nrunning = "doing"\nlanded = "halo"\nfailed = "broken"';
    const forge = await openForge(kind, `report = true\n${labels}`);
    const runId = await addRun(forge, kind, ...attempted('#42'));
    await report(forge);
    const issue = forge.issues.get(42)!;
    expect(issue.labels).toEqual(['halo', 'doing']);
    await store.append(runId, [...passed('#42').slice(-1), END]);
    await report(forge);
    expect(issue.labels).toEqual(['halo']);
  });

  test('do not depend on how many comments others wrote, and are not repeated if they cannot be found', async () => {
    const forge = await openForge(kind);
    const runId = await addRun(forge, kind, ...passed('#42'), END);
    const issue = forge.issues.get(42)!;
    issue.comments = Array.from({ length: 2500 }, () => 'x');
    issue.commentTimes = issue.comments.map(() => '2020-01-01T00:00:00Z');
    let drops = 0;
    forge.fault = (request) =>
      /^POST .*(?:comments|notes)/.test(request) && drops++ === 0 ? { drop: 'after' } : undefined;
    await report(forge);
    expect(issue.comments).toHaveLength(2501);
    issue.commentTimes = [];
    issue.comments = [...issue.comments, ...Array.from({ length: 2500 }, () => 'y')];
    await report(forge);
    expect(issue.comments).toHaveLength(5001);
    expect(issue.labels).toEqual(['halo', 'halo:done']);
    expect(pending()).toEqual([]);
    expect(runId).not.toBe('');
  });

  test('are withheld from an issue that was moved to another project', async () => {
    const forge = await openForge(kind, 'report = true\nclose = true');
    const runId = await addRun(forge, kind, ...attempted('#42'));
    await report(forge);
    await store.append(runId, [...passed('#42').slice(-1), END]);
    forge.landed.add(COMMIT);
    const location = `${forge.url}/repos/acme/other/issues/7`;
    forge.fault = (request) => (/issues\/42/.test(request) ? { status: 301, headers: { location } } : undefined);
    const before = writes(forge).length;
    await report(forge);
    expect(writes(forge)).toHaveLength(before);
    expect(forge.log.some((line) => line.includes('other'))).toBe(false);
    expect(pending()).toEqual([]);
  });
});

test('reports that a forge refuses are named with the reason and the time of the next try', async () => {
  const forge = await openForge('github');
  const runId = await addRun(forge, 'github', ...passed('#42'), END);
  forge.fault = () => ({ status: 403, body: '{"message":"no access"}' });
  await report(forge);
  const at = { home, env: { FORGE_TOKEN: forge.token } };
  const waiting = await findPendingReports(at, await store.readState(runId));
  expect(waiting).toEqual({
    stories: ['#42'],
    why: `The forge ${forge.url} answered 403 "no access".`,
    retryAt: new Date(now + 15_000).toISOString(),
  });
  expect(await checkReports(home, at.env)).toMatchObject([{ name: 'reports', ok: 'warn' }]);
  forge.fault = () => undefined;
  await report(forge);
  expect(await findPendingReports(at, await store.readState(runId))).toBeUndefined();
  expect(await checkReports(home, at.env)).toEqual([]);
});

test('a project that was renamed, or is closed to the token, keeps the reports waiting', async () => {
  const forge = await openForge('github');
  const runId = await addRun(forge, 'github', ...passed('#42'), END);
  for (const status of [301, 404]) {
    forge.fault = () => ({ status });
    await report(forge);
    expect(pending()).toEqual([`${runId}.json`]);
  }
  expect(writes(forge)).toEqual([]);
});

test('nothing is written unless issues.report is set', async () => {
  const forge = await openForge('github', '');
  await addRun(forge, 'github', ...passed('#42'), END);
  await report(forge);
  expect(forge.log).toEqual([]);
  expect(pending()).toEqual([]);
});

test('a retried run does not repeat what its issues have', async () => {
  const forge = await openForge('github');
  const runId = await addRun(forge, 'github', ...passed('#42'), END);
  await report(forge);
  expect(pending()).toEqual([]);
  await new IssueReportFiles(home).add(runId);
  await report(forge);
  expect(forge.issues.get(42)!.comments).toHaveLength(1);
});

test('an issue that was deleted does not prevent the reports of the others', async () => {
  const forge = await openForge('github');
  await addRun(forge, 'github', ...passed('#42'), END);
  forge.issues.clear();
  await report(forge);
  expect(writes(forge)).toEqual([]);
  expect(pending()).toEqual([]);
});

test('a forge that fails is asked again later, for two weeks after the end of the run', async () => {
  const forge = await openForge('github');
  const runId = await addRun(forge, 'github', ...passed('#42'), END);
  // Unlike 500, a status for which the client does not repeat a request.
  forge.fault = () => ({ status: 422 });
  await report(forge);
  expect(pending()).toEqual([`${runId}.json`]);
  now += 15 * DAY_MS;
  await report(forge);
  expect(pending()).toEqual([]);
});

test('one of two workers reports', async () => {
  const forge = await openForge('github');
  await addRun(forge, 'github', ...passed('#42'), END);
  expect(await queue.lease('issue-reporter', 'another worker', 60_000)).toBe(true);
  await report(forge);
  expect(forge.log).toEqual([]);
  await queue.releaseLease('issue-reporter', 'another worker');
  await report(forge);
  expect(forge.issues.get(42)!.comments).toHaveLength(1);
});

/** Answers the comment of a worker after `meanwhile`, which runs while the worker waits for the answer. */
async function reportWhile(forge: FakeForge, at: RegExp, meanwhile: () => Promise<void>): Promise<void> {
  vi.useFakeTimers({ toFake: ['setInterval', 'clearInterval'] });
  onTestFinished(() => void vi.useRealTimers());
  let isFirst = true;
  forge.fault = (request) => {
    if (!isFirst || !at.test(request)) return undefined;
    isFirst = false;
    return { wait: meanwhile };
  };
  await report(forge);
  expect(isFirst).toBe(false);
}

test('a worker that reports slowly keeps its lease, so that no other one posts the same comment', async () => {
  const forge = await openForge('github');
  await addRun(forge, 'github', ...passed('#42'), END);
  await reportWhile(forge, /^POST .*comments/, async () => {
    await queue.lease('issue-reporter', await leaseHolder(), 5_000);
    vi.advanceTimersByTime(5_000);
    await expect.poll(leaseMs).toBeGreaterThan(5_000);
    expect(await queue.lease('issue-reporter', 'another worker', 60_000)).toBe(false);
  });
  expect(forge.issues.get(42)!.comments).toHaveLength(1);
});

test('a worker that lost its lease posts nothing more', async () => {
  const forge = await openForge('github');
  await addRun(forge, 'github', ...passed('#42'), END);
  await reportWhile(forge, /^GET .*issues\/42$/, async () => {
    await queue.releaseLease('issue-reporter', await leaseHolder());
    expect(await queue.lease('issue-reporter', 'another worker', 60_000)).toBe(true);
  });
  expect(writes(forge)).toEqual([]);
  await queue.releaseLease('issue-reporter', 'another worker');
  await report(forge);
  expect(forge.issues.get(42)!.comments).toHaveLength(1);
});

test('a run that is retried while its last report is sent still has reports', async () => {
  const forge = await openForge('github');
  const runId = await addRun(forge, 'github', ...passed('#42'), END);
  await reportWhile(forge, /^POST .*comments/, async () => {
    await store.append(runId, [{ type: 'run.retried', by: 'me', stories: ['#42'] }]);
    await new IssueReportFiles(home).add(runId);
  });
  expect((await store.readState(runId)).status).not.toBe('ended');
  expect(pending()).toEqual([`${runId}.json`]);
});
