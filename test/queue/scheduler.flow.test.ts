import { afterEach, expect } from 'vitest';
import { sleep } from '../../src/lib/async.ts';
import { JobConsumer } from '../../src/queue/consumer.ts';
import { openQueue, type StoryQueue } from '../../src/queue/queue.ts';
import type { RedisLink } from '../../src/queue/redis/connect-redis.ts';
import { parseRedisUrl } from '../../src/queue/redis/redis-client.ts';
import { NO_LIMITS, type FleetLimits } from '../../src/core/run/fleet-limit.ts';
import { openScheduler, TAKEOVER_MS, type JobRank } from '../../src/queue/scheduler/scheduler.ts';
import { test } from '../support/fixtures.ts';
import { openTcpProxy } from '../support/redis/tcp-proxy.ts';
import { PATIENCE } from '../support/patience.ts';

/** A worker renews its slots, and asks for jobs, with each tick. */
const TICK_MS = 50;

let link: RedisLink;
let queue: StoryQueue;
let consumers: JobConsumer[];
let standings: Map<string, Partial<JobRank>>;
let limits: FleetLimits;

const worker = (id: string) => ({
  ...{ id, lane: '', host: 'here', slots: 1, pid: 1, version: '1', busy: 0, draining: false },
});

test.beforeEach(async ({ link: opened }) => {
  link = opened;
  await link.client.flushall();
  standings = new Map();
  limits = NO_LIMITS;
  consumers = [];
  queue = await openQueue(link, { rankOf, limits: () => Promise.resolve(limits) });
});
afterEach(async () => {
  await Promise.all(consumers.map((consumer) => consumer.close(500)));
  await queue.close();
});

const ALIKE: JobRank = {
  lane: '',
  engines: ['local'],
  user: 'ann',
  repo: 'shop',
  agent: 'codex',
  priority: 0,
  started: false,
};

function rankOf(runId: string): Promise<JobRank> {
  return Promise.resolve({ ...ALIKE, ...standings.get(runId) });
}

/** Queues the first story of a run, or another one. */
async function enqueue(runId: string, standing: Partial<JobRank> = {}, ordinal = 0): Promise<void> {
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
  let isReleased = false;
  return {
    started,
    /** Ends the wait of jobs for others. */
    release: () => void (isReleased = true),
    most: () => most,
    done: () => started.length - now.size,
    /** `until`: jobs run until this many are running at the same time; `isHeld`: while this holds. */
    async start({
      concurrency = 2,
      host = 'here',
      ms = 15,
      until = 1,
      takeoverMs = TAKEOVER_MS,
      isHeld = (_rank: Partial<JobRank>): boolean => false,
    } = {}) {
      const consumer = new JobConsumer(link, {
        concurrency,
        tickMs: TICK_MS,
        host,
        limits: () => Promise.resolve(limits),
        takeoverMs,
        async handle({ runId, ordinal }) {
          const job = { runId, ordinal, host };
          started.push(job);
          now.add(job);
          most = Math.max(most, now.size);
          await sleep(ms);
          while ((most < until && !isReleased) || isHeld(standings.get(runId) ?? {})) await sleep(5);
          now.delete(job);
          return { kind: 'done' };
        },
        onError: () => undefined,
      });
      consumers.push(consumer);
      await consumer.start();
      return consumer;
    },
  };
}

test('hazard 31: a user with one story does not wait for the hundred runs of another', async () => {
  const seen = watch();
  for (const runId of runIds('aaaa', 100)) await enqueue(runId);
  await seen.start({ concurrency: 2, until: 2 });
  await expect.poll(seen.done).toBeGreaterThan(3);
  await enqueue('bbbb0000', { user: 'ben' });
  const before = seen.started.length;
  await expect.poll(() => seen.started.findIndex(({ runId }) => runId === 'bbbb0000')).toBeGreaterThan(0);
  const place = seen.started.findIndex(({ runId }) => runId === 'bbbb0000');
  // Whatever started while it was queued, and at most one more turn of each slot.
  expect(place).toBeLessThan(before + 10);
  await expect.poll(seen.done).toBe(101);
  expect(seen.most()).toBe(2);
});

/** Runs of three stories one after the other, each queued while the one before it is worked on, as workers do. */
async function workOnRuns(runIds: string[], concurrency: number): Promise<{ runId: string; underWay: number }[]> {
  const seen: { runId: string; underWay: number }[] = [];
  const underWay = new Map<string, number>();
  for (const runId of runIds) await enqueue(runId, standings.get(runId));
  const consumer = new JobConsumer(link, {
    concurrency,
    tickMs: TICK_MS,
    handle: async ({ runId, ordinal }) => {
      underWay.set(runId, ordinal);
      seen.push({ runId, underWay: underWay.size });
      await sleep(15);
      if (ordinal < 2) await enqueue(runId, standings.get(runId), ordinal + 1);
      else underWay.delete(runId);
      return { kind: 'done' };
    },
    onError: () => undefined,
  });
  consumers.push(consumer);
  await consumer.start();
  await expect.poll(() => seen.length).toBe(3 * runIds.length);
  return seen;
}

test('a user finishes a run before the next one starts', async () => {
  const seen = await workOnRuns(['aaaa0000', 'bbbb0000', 'cccc0000'], 1);
  expect(seen.map(({ runId }) => runId.slice(0, 1)).join('')).toBe('aaabbbccc');
});

test('a user has no more running runs than there are workers for their stories', async () => {
  const seen = await workOnRuns(runIds('aaaa', 8), 2);
  expect(Math.max(...seen.map(({ underWay }) => underWay))).toBe(2);
});

test('users take turns, and each of them finishes a run before the next one', async () => {
  for (const runId of ['ben00001', 'ben00002']) standings.set(runId, { user: 'ben' });
  const seen = await workOnRuns(['ann00001', 'ann00002', 'ben00001', 'ben00002'], 1);
  const order = seen.map(({ runId }) => runId);
  expect(order.filter((runId) => runId.startsWith('ann')).map((runId) => runId.at(-1))).toEqual([...'111222']);
  expect(order.filter((runId) => runId.startsWith('ben')).map((runId) => runId.at(-1))).toEqual([...'111222']);
  for (let at = 0; at < order.length; at += 2) expect(order[at]?.slice(0, 3)).not.toBe(order[at + 1]?.slice(0, 3));
});

test('a run of higher priority goes before a started one of the same user', async () => {
  standings.set('bbbb0000', { priority: -10 });
  standings.set('aaaa0000', { started: true });
  const seen = await workOnRuns(['aaaa0000', 'bbbb0000'], 1);
  expect(seen.map(({ runId }) => runId.slice(0, 1)).join('')).toBe('bbbaaa');
});

test('the next run starts while a run has nothing to do, and continues after it', async () => {
  const seen: string[] = [];
  const consumer = new JobConsumer(link, {
    concurrency: 1,
    tickMs: TICK_MS,
    handle: async ({ runId, ordinal }) => {
      seen.push(`${runId.slice(0, 1)}${ordinal}`);
      // The first run waits before it tries again, and may do so in the middle of the second one.
      if (seen.length === 1) return { kind: 'again', afterMs: 150 };
      if (seen.length === 3) await expect.poll(() => queue.counts()).toMatchObject({ delayed: 0 });
      if (ordinal < 3) await enqueue(runId, {}, ordinal + 1);
      return { kind: 'done' };
    },
    onError: () => undefined,
  });
  consumers.push(consumer);
  for (const runId of ['aaaa0000', 'bbbb0000', 'cccc0000']) await enqueue(runId);
  await consumer.start();
  await expect.poll(() => seen.length).toBe(13);
  expect(seen.slice(0, 2)).toEqual(['a0', 'b0']);
  const lastOf = (run: string) => seen.findLastIndex((job) => job.startsWith(run));
  expect(lastOf('a')).toBeLessThan(lastOf('b'));
  expect(lastOf('b')).toBeLessThan(seen.indexOf('c0'));
});

test('a limit on a started run frees the worker for the next run', async () => {
  limits = { perRepo: 1, perAgent: {} };
  const seen = watch();
  await enqueue('aaaa0000', { repo: 'busy' });
  await enqueue('aaaa0000', { repo: 'busy' }, 1);
  await enqueue('bbbb0000', { repo: 'free' });
  await seen.start({ concurrency: 2, until: 2, ms: 100 });
  await expect.poll(seen.done).toBe(3);
  expect(seen.started.slice(0, 2).map(({ runId }) => runId)).toEqual(['aaaa0000', 'bbbb0000']);
});

test('a started run still goes before others of the same user after Redis lost all data', async () => {
  await enqueue('aaaa0000');
  await enqueue('bbbb0000', { started: true }, 1);
  const seen = watch();
  await seen.start({ concurrency: 1 });
  await expect.poll(seen.done).toBe(2);
  expect(seen.started.map(({ runId }) => runId)).toEqual(['bbbb0000', 'aaaa0000']);
});

test('waiting jobs are ordered by priority, and by turns between users with equal priority', async () => {
  const seen = watch();
  const wanted: [string, Partial<JobRank>][] = [
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
  await expect.poll(seen.done).toBe(wanted.length);
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

test.each<[string, FleetLimits, Partial<JobRank>]>([
  ['of all', { max: 3, perAgent: {} }, {}],
  ['of a user', { perUser: 3, perAgent: {} }, { user: 'ann' }],
  ['of a repository', { perRepo: 3, perAgent: {} }, { repo: 'shop' }],
  ['of an agent', { perAgent: { codex: 3 } }, { agent: 'codex' }],
  ['of a host', { perHost: 3, perAgent: {} }, {}],
])('hazard 31: the limit %s is reached by several workers, and never exceeded', async (_what, most, standing) => {
  limits = most;
  const seen = watch();
  await Promise.all(Array.from({ length: 3 }, () => seen.start({ concurrency: 2, until: 3 })));
  await Promise.all(runIds('aaaa', 12).map((runId) => enqueue(runId, standing)));
  await expect.poll(seen.done).toBe(12);
  expect(seen.most()).toBe(3);
});

test('each host has its own limit, and another host takes the remaining jobs', async () => {
  limits = { perHost: 1, perAgent: {} };
  const seen = watch();
  for (const host of ['one', 'two']) await seen.start({ host, concurrency: 3, until: 2 });
  for (const runId of runIds('aaaa', 6)) await enqueue(runId);
  await expect.poll(seen.done).toBe(6);
  expect(seen.most()).toBe(2);
  expect(new Set(seen.started.map(({ host }) => host)).size).toBe(2);
});

test('jobs that wait for their limit do not occupy workers', async () => {
  limits = { perRepo: 1, perAgent: {} };
  const seen = watch();
  for (const runId of runIds('aaaa', 10)) await enqueue(runId, { repo: 'busy' });
  for (const runId of runIds('bbbb', 3)) await enqueue(runId, { repo: runId, user: 'ben' });
  // The first one of them holds its slot until the others have started.
  const others = () => seen.started.filter(({ runId }) => runId.startsWith('bbbb')).length;
  await seen.start({ concurrency: 2, ms: 5, isHeld: ({ repo }) => repo === 'busy' && others() < 3 });
  await expect.poll(seen.done).toBe(13);
});

test('a limit that is raised while jobs wait applies immediately', async () => {
  limits = { max: 1, perAgent: {} };
  const seen = watch();
  await seen.start({ concurrency: 4, until: 3 });
  for (const runId of runIds('aaaa', 4)) await enqueue(runId);
  await expect.poll(() => seen.started.length).toBeGreaterThan(0);
  await sleep(3 * TICK_MS);
  expect(seen.most()).toBe(1);
  limits = { max: 3, perAgent: {} };
  await expect.poll(seen.most).toBe(3);
});

test('the jobs that wait are not read to find the next one: thousands of them make no start slower', async () => {
  const reads = async () => /cmdstat_hkeys:calls=(\d+)/.exec(await link.client.info('commandstats'))?.[1] ?? '0';
  await enqueue('aaaa0000');
  await link.client.config('RESETSTAT');
  for (const runId of runIds('aa', 10)) await enqueue(runId);
  const scheduler = openScheduler(link.client, { prefix: link.prefix, limits: () => Promise.resolve(NO_LIMITS) });
  const taken = await scheduler.update(() => ({ worker: worker('one') }));
  expect([taken.granted.length, await reads()]).toEqual([1, '0']);
  for (const runId of runIds('bb', 10)) await enqueue(runId);
  const next = await scheduler.update(() => ({ finish: taken.granted[0]!.id, worker: worker('one') }));
  expect([next.granted.length, await reads()]).toEqual([1, '0']);
});

test('a repeated offer keeps the place and the delay of the job', async () => {
  const scheduler = openScheduler(link.client, { prefix: link.prefix, limits: () => Promise.resolve(NO_LIMITS) });
  await queue.enqueue({ runId: 'aaaa0000', ordinal: 0, attempt: 1, delayMs: 60_000 });
  await enqueue('bbbb0000');
  const [before] = [await scheduler.list()];
  await queue.enqueue({ runId: 'aaaa0000', ordinal: 0, attempt: 1, delayMs: 90_000 });
  await enqueue('bbbb0000');
  expect((await scheduler.list()).toSorted(byId)).toEqual(before.toSorted(byId));
  expect(await queue.counts()).toMatchObject({ waiting: 1, delayed: 1 });
});

test('hazard 33: jobs and slots whose times were stored while the clock of Redis was a day ahead are taken in time', async () => {
  const scheduler = openScheduler(link.client, {
    prefix: link.prefix,
    limits: () => Promise.resolve(NO_LIMITS),
    takeoverMs: 1000,
  });
  const ids = ['aaaa0000', 'bbbb0000'];
  for (const runId of ids) {
    standings.set(runId, {});
    await queue.enqueue({ runId, ordinal: 0, attempt: 1, delayMs: runId === 'aaaa0000' ? 60_000 : 0 });
  }
  const granted = async (id: string) =>
    (await scheduler.update(() => ({ worker: worker(id) }))).granted.map((job) => job.id);
  expect(await granted('dead')).toEqual(['s-bbbb0000-0-a1']);
  const [jobs, leases] = ['jobs', 'leases'].map((name) => `${link.prefix}:slots:${name}`) as [string, string];
  const job = JSON.parse((await link.client.hget(jobs, 's-aaaa0000-0-a1'))!) as { readyAt: number };
  await link.client.hset(jobs, 's-aaaa0000-0-a1', JSON.stringify({ ...job, readyAt: job.readyAt + 86_400_000 }));
  await link.client.zincrby(leases, 86_400_000, 's-bbbb0000-0-a1');
  await link.client.hincrby(`${link.prefix}:slots:index`, 'clock', 86_400_000);
  expect(await granted('alive')).toEqual(['s-aaaa0000-0-a1']);
  await expect.poll(() => granted('another'), PATIENCE).toEqual(['s-bbbb0000-0-a1']);
});

test('the slot of a dead worker expires, and another worker takes it', async () => {
  const scheduler = openScheduler(link.client, {
    prefix: link.prefix,
    limits: () => Promise.resolve({ max: 1, perAgent: {} }),
  });
  await enqueue('aaaa0000');
  const given = await scheduler.update(() => ({ worker: worker('dead') }));
  expect(given.granted.map(({ id }) => id)).toEqual(['s-aaaa0000-0-a1']);
  await enqueue('bbbb0000', { priority: -1 });
  expect((await scheduler.update(() => ({ worker: worker('alive') }))).granted).toEqual([]);
  // Its last renewal was a takeover time ago.
  await link.client.zincrby(`${link.prefix}:slots:leases`, -TAKEOVER_MS, 's-aaaa0000-0-a1');
  const next = await scheduler.update(() => ({ worker: worker('alive') }));
  expect(next.granted.map(({ id }) => id)).toEqual(['s-bbbb0000-0-a1']);
  // The dead one comes back, and may not begin: its place is taken.
  expect((await scheduler.update(() => ({ begin: { id: 's-aaaa0000-0-a1', host: 'here' } }))).started).toBeUndefined();
});

test('a slot expires no later than the takeover time', async () => {
  const [id, takeoverMs] = ['s-aaaa0000-0-a1', 4000];
  const ofAll = { rankOf, limits: () => Promise.resolve(limits), takeoverMs };
  const lease = () => link.client.zscore(`${link.prefix}:slots:leases`, id);
  const left = async () => {
    const until = await lease();
    const [seconds] = await link.client.time();
    return Number(until) - Number(seconds) * 1000;
  };
  const scheduler = openScheduler(link.client, { prefix: link.prefix, ...ofAll });
  await scheduler.update(() => ({ worker: { ...worker('other'), host: 'there' } }));
  const producer = await openQueue(link, ofAll);
  await producer.enqueue({ runId: 'aaaa0000', ordinal: 0, attempt: 1 });
  const holding = watch();
  // A second more for the fraction that was cut off.
  for (const at of ['given', 'renewed']) {
    const ms = await left();
    expect(ms, at).toBeGreaterThan(0);
    expect(ms, at).toBeLessThanOrEqual(takeoverMs + 1000);
    if (at === 'given') await holding.start({ until: 2, takeoverMs });
    await expect.poll(() => holding.started).toHaveLength(1);
    const taken = await lease();
    await expect.poll(lease).not.toBe(taken);
  }
  holding.release();
  await producer.close();
});

test('running jobs count even after Redis has lost all data', async () => {
  limits = { max: 2, perAgent: {} };
  const seen = watch();
  const [ids, more] = [runIds('aaaa', 2), runIds('bbbb', 4)];
  for (const runId of ids) await enqueue(runId);
  await seen.start({ concurrency: 4, until: 3 });
  await expect.poll(() => seen.started.length).toBe(2);
  await link.client.flushall();
  await expect.poll(() => link.client.zcard(`${link.prefix}:slots:leases`)).toBe(2);
  for (const runId of [...ids, ...more]) await enqueue(runId);
  seen.release();
  await expect.poll(() => new Set(seen.started.map(({ runId }) => runId)).size).toBe(6);
  expect(seen.most()).toBe(2);
  expect(seen.started).toHaveLength(6);
});

function byId(a: { id: string }, b: { id: string }): number {
  return a.id < b.id ? -1 : 1;
}

test('a job that is queued again leaves its slot to others meanwhile', async () => {
  limits = { max: 1, perAgent: {} };
  const seen: string[] = [];
  const consumer = new JobConsumer(link, {
    concurrency: 2,
    tickMs: TICK_MS,
    limits: () => Promise.resolve(limits),
    handle: async ({ runId }) => {
      seen.push(runId);
      if (seen.length > 1) return { kind: 'done' };
      await enqueue('bbbb0000');
      return { kind: 'again', afterMs: 500 };
    },
    onError: () => undefined,
  });
  consumers.push(consumer);
  await consumer.start();
  await enqueue('aaaa0000');
  await expect.poll(() => seen).toEqual(['aaaa0000', 'bbbb0000', 'aaaa0000']);
  await expect.poll(() => queue.counts()).toMatchObject({ waiting: 0, active: 0, delayed: 0 });
});

/** Calls a function of a queue whose network is slow, and meanwhile tries to take the lease for another worker. */
async function takeWhile(slow: (queue: StoryQueue) => Promise<unknown>): Promise<{ result: unknown; taken: boolean }> {
  const proxy = await openTcpProxy(String(link.address.options.path));
  const far = await openQueue({ ...link, address: parseRedisUrl(`redis://127.0.0.1:${proxy.port}`) });
  try {
    proxy.turn({ slowMs: 200 });
    let settled = false;
    const calling = slow(far).finally(() => (settled = true));
    let taken = false;
    while (!settled && !taken) taken = await queue.lease('sweep', 'near', 60_000);
    return { result: await calling, taken };
  } finally {
    await far.close();
    await proxy.close();
  }
}

test('a lease that expires while its holder renews it has one holder', async () => {
  // Expires between the second and the third command of a slow client.
  await queue.lease('sweep', 'far', 800);
  const { result, taken } = await takeWhile((far) => far.lease('sweep', 'far', 60_000));
  expect(result).toBe(!taken);
});

test('a lease that expires while its holder releases it stays with the next holder', async () => {
  // Expires between the first and the second command of a slow client.
  await queue.lease('sweep', 'far', 400);
  const { taken } = await takeWhile((far) => far.releaseLease('sweep', 'far'));
  expect(taken).toBe(true);
  expect(await queue.lease('sweep', 'other', 60_000)).toBe(false);
});

test('a lease can be renewed and released only by its holder', async () => {
  expect(await queue.lease('sweep', 'one', 60_000)).toBe(true);
  expect(await queue.lease('sweep', 'other', 60_000)).toBe(false);
  await queue.releaseLease('sweep', 'other');
  expect(await queue.lease('sweep', 'one', 500)).toBe(true);
  await expect.poll(() => queue.lease('sweep', 'other', 60_000), PATIENCE).toBe(true);
  await queue.releaseLease('sweep', 'other');
  expect(await queue.lease('sweep', 'one', 60_000)).toBe(true);
});
