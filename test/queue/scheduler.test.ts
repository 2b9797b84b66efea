import { mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterAll, afterEach, beforeAll, beforeEach, expect, test } from 'vitest';
import { sleep } from '../../src/lib/sleep.ts';
import { consume, type Consumer } from '../../src/queue/consume.ts';
import { openQueue, type StoryQueue } from '../../src/queue/queue.ts';
import { connectRedis, type RedisLink } from '../../src/queue/redis/connect-redis.ts';
import { NO_LIMITS, openTurns, TAKEOVER_MS, type Limits, type Standing } from '../../src/queue/turns.ts';

let home: string;
let link: RedisLink;
let queue: StoryQueue;
let consumers: Consumer[];
let standings: Map<string, Partial<Standing>>;
let limits: Limits;

beforeAll(async () => {
  home = mkdtempSync(join(tmpdir(), 'halo-queue-'));
  link = await connectRedis({ home, redisUrl: undefined });
});
afterAll(async () => {
  await link.close();
  rmSync(home, { recursive: true, force: true });
});
beforeEach(async () => {
  await link.client.flushall();
  standings = new Map();
  limits = NO_LIMITS;
  consumers = [];
  queue = await openQueue(link, { standingOf, limits: () => Promise.resolve(limits) });
});
afterEach(async () => {
  await Promise.all(consumers.map((consumer) => consumer.close(500)));
  await queue.close();
});

const ALIKE: Standing = { lane: '', user: 'ann', repo: 'shop', agent: 'codex', priority: 0 };

function standingOf(runId: string): Promise<Standing> {
  return Promise.resolve({ ...ALIKE, ...standings.get(runId) });
}

/** Queues the first story of a run, or another one. */
async function enqueue(runId: string, standing: Partial<Standing> = {}, ordinal = 0): Promise<void> {
  standings.set(runId, standing);
  await queue.enqueue({ runId, ordinal, attempt: 1 });
}

const runIds = (prefix: string, count: number) =>
  Array.from({ length: count }, (_, index) => `${prefix}${String(index).padStart(8, '0')}`);

interface Started {
  runId: string;
  ordinal: number;
  host: string;
}

/** Workers that take a moment for each job, and what they saw. */
function watch() {
  const started: Started[] = [];
  const now = new Set<Started>();
  let most = 0;
  return {
    started,
    most: () => most,
    done: () => started.length - now.size,
    /** `until`: jobs go on until so many are under way at once. */
    async start({ concurrency = 2, host = 'here', ms = 15, until = 1, takeoverMs = TAKEOVER_MS } = {}) {
      const consumer = consume(link, {
        concurrency,
        host,
        limits: () => Promise.resolve(limits),
        takeoverMs,
        async handle({ runId, ordinal }) {
          const job = { runId, ordinal, host };
          started.push(job);
          now.add(job);
          most = Math.max(most, now.size);
          await sleep(ms);
          while (most < until) await sleep(5);
          now.delete(job);
        },
        onError: () => undefined,
      });
      consumers.push(consumer);
      await consumer.ready;
      return consumer;
    },
  };
}

test('hazard 31: a user with one story does not wait for the hundred runs of another', async () => {
  const seen = watch();
  for (const runId of runIds('aaaa', 100)) await enqueue(runId);
  await seen.start({ concurrency: 2, until: 2 });
  await expect.poll(seen.done).toBeGreaterThan(3);
  const before = seen.started.length;
  await enqueue('bbbb0000', { user: 'ben' });
  await expect.poll(() => seen.started.findIndex(({ runId }) => runId === 'bbbb0000')).toBeGreaterThan(0);
  const place = seen.started.findIndex(({ runId }) => runId === 'bbbb0000');
  // Whatever started while it was queued, and at most one more turn of each slot.
  expect(place).toBeLessThan(before + 10);
  await expect.poll(seen.done, { timeout: 20_000 }).toBe(101);
  expect(seen.most()).toBe(2);
});

test('hazard 31: the hundred stories of one run do not keep back the one story of another run of the same user', async () => {
  const seen = watch();
  for (let ordinal = 0; ordinal < 100; ordinal++) await enqueue('aaaa0000', {}, ordinal);
  await enqueue('bbbb0000');
  await seen.start({ concurrency: 1 });
  await expect.poll(seen.done, { timeout: 20_000 }).toBe(101);
  expect(seen.started.findIndex(({ runId }) => runId === 'bbbb0000')).toBeLessThan(2);
});

test('what waits goes by priority, and within one by turns between users', async () => {
  const seen = watch();
  const wanted: [string, Partial<Standing>][] = [
    ['low00000', { priority: 10, user: 'ben' }],
    ['ann00001', {}],
    ['ann00002', {}],
    ['ann00003', {}],
    ['ben00001', { user: 'ben' }],
    ['high0000', { priority: -10 }],
    ['ben00002', { user: 'ben' }],
  ];
  for (const [runId, standing] of wanted) await enqueue(runId, standing);
  await seen.start({ concurrency: 1 });
  await expect.poll(seen.done, { timeout: 20_000 }).toBe(wanted.length);
  // Ann has had the first turn, with her urgent run.
  expect(seen.started.map(({ runId }) => runId)).toEqual([
    'high0000',
    'ben00001',
    'ann00001',
    'ben00002',
    'ann00002',
    'ann00003',
    'low00000',
  ]);
});

test.each<[string, Limits, Partial<Standing>]>([
  ['of all', { max: 3, perAgent: {} }, {}],
  ['of a user', { perUser: 3, perAgent: {} }, { user: 'ann' }],
  ['of a repository', { perRepo: 3, perAgent: {} }, { repo: 'shop' }],
  ['of an agent', { perAgent: { codex: 3 } }, { agent: 'codex' }],
  ['of a host', { perHost: 3, perAgent: {} }, {}],
])('hazard 31: the limit %s is reached by several workers, and never passed', async (_what, most, standing) => {
  limits = most;
  const seen = watch();
  await Promise.all(Array.from({ length: 3 }, () => seen.start({ concurrency: 2, until: 3 })));
  await Promise.all(runIds('aaaa', 24).map((runId) => enqueue(runId, standing)));
  await expect.poll(seen.done, { timeout: 20_000 }).toBe(24);
  expect(seen.most()).toBe(3);
});

test('hosts have a limit each, and what one of them cannot take another one does', async () => {
  limits = { perHost: 1, perAgent: {} };
  const seen = watch();
  for (const host of ['one', 'two']) await seen.start({ host, concurrency: 3, until: 2 });
  for (const runId of runIds('aaaa', 12)) await enqueue(runId);
  await expect.poll(seen.done, { timeout: 20_000 }).toBe(12);
  expect(seen.most()).toBe(2);
  expect(new Set(seen.started.map(({ host }) => host)).size).toBe(2);
});

test('jobs that their limit holds back leave the workers to others', async () => {
  limits = { perRepo: 1, perAgent: {} };
  const seen = watch();
  for (const runId of runIds('aaaa', 10)) await enqueue(runId, { repo: 'busy' });
  for (const runId of runIds('bbbb', 3)) await enqueue(runId, { repo: runId, user: 'ben' });
  await seen.start({ concurrency: 2, ms: 40 });
  await expect.poll(seen.done, { timeout: 20_000 }).toBe(13);
  const others = seen.started.flatMap(({ runId }, at) => (runId.startsWith('bbbb') ? [at] : []));
  expect(Math.max(...others)).toBeLessThan(8);
});

test('a limit that is raised while jobs wait counts at once', async () => {
  limits = { max: 1, perAgent: {} };
  const seen = watch();
  await seen.start({ concurrency: 4, ms: 30 });
  for (const runId of runIds('aaaa', 30)) await enqueue(runId);
  await expect.poll(seen.done).toBeGreaterThan(2);
  expect(seen.most()).toBe(1);
  limits = { max: 3, perAgent: {} };
  await expect.poll(seen.most).toBe(3);
});

test('a job that is asked for again keeps its place and its delay', async () => {
  const turns = openTurns(link.client, { prefix: link.prefix, limits: () => Promise.resolve(NO_LIMITS) });
  await queue.enqueue({ runId: 'aaaa0000', ordinal: 0, attempt: 1, delayMs: 60_000 });
  await enqueue('bbbb0000');
  const [before] = [await turns.list()];
  await queue.enqueue({ runId: 'aaaa0000', ordinal: 0, attempt: 1, delayMs: 90_000 });
  await enqueue('bbbb0000');
  expect((await turns.list()).toSorted(byId)).toEqual(before.toSorted(byId));
  expect(await queue.counts()).toMatchObject({ waiting: 1, delayed: 1 });
});

test('the turn of a worker that died lapses, and another one takes its place', async () => {
  const turns = openTurns(link.client, {
    prefix: link.prefix,
    limits: () => Promise.resolve({ max: 1, perAgent: {} }),
    takeoverMs: 5000,
  });
  const worker = (id: string) => ({ id, lane: '', host: 'here', slots: 1 });
  await enqueue('aaaa0000');
  const given = await turns.ask(() => ({ worker: worker('dead') }));
  expect(given.turns.map(({ id }) => id)).toEqual(['s-aaaa0000-0-a1']);
  await enqueue('bbbb0000', { priority: -1 });
  expect((await turns.ask(() => ({ worker: worker('alive') }))).turns).toEqual([]);
  await expect
    .poll(async () => (await turns.ask(() => ({ worker: worker('alive') }))).turns.map(({ id }) => id), {
      timeout: 20_000,
      interval: 500,
    })
    .toEqual(['s-bbbb0000-0-a1']);
  // The dead one comes back, and may not begin: its place is taken.
  expect((await turns.ask(() => ({ begin: { id: 's-aaaa0000-0-a1', host: 'here' } }))).begun).toBeUndefined();
});

test('a turn lasts no longer than a silent worker keeps its jobs, whoever gave it', async () => {
  const [id, takeoverMs] = ['s-aaaa0000-0-a1', 4000];
  const ofAll = { standingOf, limits: () => Promise.resolve(limits), takeoverMs };
  const left = async () => {
    const until = await link.client.zscore(`${link.prefix}:turns:leases`, id);
    const [seconds] = await link.client.time();
    return Number(until) - Number(seconds) * 1000;
  };
  const turns = openTurns(link.client, { prefix: link.prefix, ...ofAll });
  await turns.ask(() => ({ worker: { id: 'other', lane: '', host: 'there', slots: 1 } }));
  const producer = await openQueue(link, ofAll);
  await producer.enqueue({ runId: 'aaaa0000', ordinal: 0, attempt: 1 });
  // A second more for the fraction that was cut off.
  for (const at of ['given', 'taken']) {
    const ms = await left();
    expect(ms, at).toBeGreaterThan(0);
    expect(ms, at).toBeLessThanOrEqual(takeoverMs + 1000);
    if (at === 'given') await watch().start({ ms: 5000, takeoverMs });
    await sleep(1500);
  }
  await producer.close();
});

test('what is being worked on counts even when Redis has lost everything', async () => {
  limits = { max: 2, perAgent: {} };
  const seen = watch();
  const [ids, more] = [runIds('aaaa', 2), runIds('bbbb', 4)];
  for (const runId of ids) await enqueue(runId);
  await seen.start({ concurrency: 4, ms: 3000 });
  await expect.poll(() => seen.started.length).toBe(2);
  await link.client.flushall();
  // The worker speaks once a second.
  await expect.poll(() => link.client.zcard(`${link.prefix}:turns:leases`)).toBe(2);
  for (const runId of [...ids, ...more]) await enqueue(runId);
  await expect.poll(() => new Set(seen.started.map(({ runId }) => runId)).size, { timeout: 20_000 }).toBe(6);
  expect(seen.most()).toBe(2);
  expect(seen.started).toHaveLength(6);
});

function byId(a: { id: string }, b: { id: string }): number {
  return a.id < b.id ? -1 : 1;
}

test('a job that comes again gives its place to others meanwhile', async () => {
  limits = { max: 1, perAgent: {} };
  const seen: string[] = [];
  const consumer = consume(link, {
    concurrency: 2,
    limits: () => Promise.resolve(limits),
    handle: ({ runId }) => {
      seen.push(runId);
      const first = runId === 'aaaa0000' && !seen.includes('bbbb0000');
      return Promise.resolve(first ? { againMs: 1500 } : undefined);
    },
    onError: () => undefined,
  });
  consumers.push(consumer);
  await consumer.ready;
  await enqueue('aaaa0000');
  await expect.poll(() => seen).toEqual(['aaaa0000']);
  await enqueue('bbbb0000');
  await expect.poll(() => seen, { timeout: 20_000 }).toEqual(['aaaa0000', 'bbbb0000', 'aaaa0000']);
  await expect.poll(() => queue.counts()).toMatchObject({ waiting: 0, active: 0, delayed: 0 });
});
