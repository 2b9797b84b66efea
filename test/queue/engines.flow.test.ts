import { afterEach, describe, expect } from 'vitest';
import { JobConsumer } from '../../src/queue/consumer.ts';
import { openQueue, type StoryQueue } from '../../src/queue/queue.ts';
import type { RedisLink } from '../../src/queue/redis/connect-redis.ts';
import { NO_LIMITS, type FleetLimits } from '../../src/core/run/fleet-limit.ts';
import {
  openScheduler,
  type JobEntry,
  type JobRank,
  type Scheduler,
  type SchedulerUpdate,
} from '../../src/queue/scheduler/scheduler.ts';
import { test } from '../support/fixtures.ts';

let link: RedisLink;
let scheduler: Scheduler;
let limits: FleetLimits;

test.beforeEach(async ({ link: opened }) => {
  link = opened;
  await link.client.flushall();
  limits = NO_LIMITS;
  scheduler = openAt(undefined);
});

function openAt(takeoverMs: number | undefined): Scheduler {
  return openScheduler(link.client, { prefix: link.prefix, limits: () => Promise.resolve(limits), takeoverMs });
}

const rank = (part: Partial<JobRank>): JobRank => ({
  ...{ lane: '', engines: ['local'], user: 'ann', repo: 'shop', agent: 'codex', priority: 0, started: false },
  ...part,
});

const workerOf = (engine: string, { slots = 1, busy = 0, host = `engine ${engine}`, draining = false } = {}) => ({
  ...{ id: `worker of ${engine}`, lane: '', engine, host, slots, pid: 1, version: '1', busy, draining },
});

const idOf = (runId: string) => `s-${runId}-0-a1`;

async function update(what: SchedulerUpdate) {
  return scheduler.update(() => what);
}

async function offer(runId: string, part: Partial<JobRank> = {}): Promise<Record<string, string | undefined>> {
  const job = { id: idOf(runId), runId, ordinal: 0, attempt: 1, delayMs: 0, ...rank(part) };
  return grantedBy(await update({ offer: [job] }));
}

function grantedBy({ granted }: { granted: { entry: JobEntry }[] }): Record<string, string | undefined> {
  return Object.fromEntries(granted.map(({ entry }) => [entry.runId, entry.engine]));
}

/** A worker of this engine has run a story of the repository. */
async function hasRun(engine: string, repo: string): Promise<void> {
  const runId = 'warm0000';
  await update({ worker: workerOf(engine, { slots: 9 }) });
  await offer(runId, { engines: [engine], repo });
  await update({ begin: { id: idOf(runId), host: `engine ${engine}`, engine } });
  await update({ finish: idOf(runId) });
}

describe('a story gets a slot', () => {
  test('on no engine but those that may run it', async () => {
    await update({ worker: workerOf('a') });
    await update({ worker: workerOf('b') });
    expect(await offer('aaaa0001', { engines: ['b'] })).toEqual({ aaaa0001: 'b' });
    expect(await offer('aaaa0002', { engines: ['b'] })).toEqual({});
    expect(await offer('aaaa0003', { engines: [] })).toEqual({});
    expect(await offer('aaaa0004', { engines: ['b', 'a'] })).toEqual({ aaaa0004: 'a' });
  });

  test('as soon as an engine that may run it has a worker', async () => {
    await update({ worker: workerOf('a') });
    expect(await offer('aaaa0001', { engines: ['gpu'] })).toEqual({});
    expect(grantedBy(await update({ worker: workerOf('gpu') }))).toEqual({ aaaa0001: 'gpu' });
  });

  test('after a change of the configuration, which an offer repeats', async () => {
    await update({ worker: workerOf('a') });
    await offer('aaaa0001', { engines: [] });
    expect(await offer('aaaa0001', { engines: ['a'] })).toEqual({ aaaa0001: 'a' });
  });

  test('on the engine that has run its repository, until that is full', async () => {
    await hasRun('b', 'shop');
    await update({ worker: workerOf('b', { slots: 2 }) });
    await update({ worker: workerOf('a', { slots: 2 }) });
    const on = { engines: ['a', 'b'] };
    expect(await offer('aaaa0001', on)).toEqual({ aaaa0001: 'b' });
    expect(await offer('aaaa0002', on)).toEqual({ aaaa0002: 'b' });
    expect(await offer('aaaa0003', on)).toEqual({ aaaa0003: 'a' });
  });

  test('on the engine with the lowest load, in parts of its slots', async () => {
    await update({ worker: workerOf('a', { slots: 2 }) });
    await update({ worker: workerOf('b', { slots: 4 }) });
    const on = { engines: ['a', 'b'] };
    const places = [];
    for (const index of [1, 2, 3, 4, 5, 6]) places.push(Object.values(await offer(`aaaa000${index}`, on))[0]);
    expect(places).toEqual(['a', 'b', 'b', 'a', 'b', 'b']);
  });

  test('on another engine than one that drains', async () => {
    await update({ worker: workerOf('a', { slots: 5, draining: true }) });
    await update({ worker: workerOf('b') });
    expect(await offer('aaaa0001', { engines: ['a', 'b'] })).toEqual({ aaaa0001: 'b' });
  });

  test('on another engine than one that does not answer, also if it waited in the queue of that one', async () => {
    await update({ worker: workerOf('a') });
    expect(await offer('aaaa0001', { engines: ['a', 'b'] })).toEqual({ aaaa0001: 'a' });
    await update({ worker: { ...workerOf('a'), away: true } });
    expect(grantedBy(await update({ worker: workerOf('b') }))).toEqual({ aaaa0001: 'b' });
    expect(await offer('aaaa0002', { engines: ['a'] })).toEqual({});
    expect(grantedBy(await update({ worker: workerOf('a') }))).toEqual({ aaaa0002: 'a' });
  });

  test('rather on another engine than the one on which it failed, if that has room', async () => {
    await hasRun('a', 'shop');
    await update({ worker: workerOf('a', { slots: 2 }) });
    await update({ worker: workerOf('b') });
    const runId = 'aaaa0001';
    expect(await offer(runId, { engines: ['a', 'b'] })).toEqual({ [runId]: 'a' });
    await update({ begin: { id: idOf(runId), host: 'engine a', engine: 'a' } });
    const again = { later: { id: idOf(runId), delayMs: 0, avoid: 'a' } };
    expect(grantedBy(await update(again))).toEqual({ [runId]: 'b' });
    await offer('aaaa0002', { engines: ['b'] });
    await update({ begin: { id: idOf(runId), host: 'engine b', engine: 'b' } });
    expect(grantedBy(await update({ later: { id: idOf(runId), delayMs: 0, avoid: 'b' } }))).toMatchObject({
      [runId]: 'a',
    });
  });

  test('on another engine than one whose limit per host is reached: each engine counts as a host', async () => {
    limits = { ...NO_LIMITS, perHost: 1 };
    await update({ worker: workerOf('a', { slots: 5 }) });
    await update({ worker: workerOf('b', { slots: 5 }) });
    await offer('aaaa0001', { engines: ['a'] });
    expect(await offer('aaaa0002', { engines: ['a', 'b'] })).toEqual({ aaaa0002: 'b' });
    expect(await offer('aaaa0003', { engines: ['a', 'b'] })).toEqual({});
  });

  test('in the order of priorities and users, whatever engines may run it', async () => {
    await offer('aaaa0001', { engines: ['a', 'b'] });
    await offer('bbbb0001', { engines: ['a'], user: 'ben', priority: -10 });
    expect(grantedBy(await update({ worker: workerOf('a') }))).toEqual({ bbbb0001: 'a' });
    expect(grantedBy(await update({ worker: workerOf('b') }))).toEqual({ aaaa0001: 'b' });
  });

  test('although a job with a higher priority waits for an engine', async () => {
    await offer('aaaa0001', { engines: ['gpu'], priority: -10 });
    await offer('bbbb0001', { engines: ['a'] });
    expect(grantedBy(await update({ worker: workerOf('a') }))).toEqual({ bbbb0001: 'a' });
  });
});

describe('a story moves to another engine', () => {
  const on = { engines: ['a', 'b'] };

  test('if the worker that would have begun it leaves', async () => {
    await update({ worker: workerOf('a') });
    await offer('aaaa0001', on);
    await update({ worker: workerOf('b') });
    const { granted } = await update({ worker: { ...workerOf('a'), slots: 0 } });
    expect(granted.map(({ entry }) => [entry.engine, entry.from])).toEqual([['b', 'a']]);
  });

  test('if its worker hands it back and leaves, not if another worker of the engine would take it', async () => {
    await update({ worker: workerOf('a', { slots: 2 }) });
    await offer('aaaa0001', on);
    const begin = { id: idOf('aaaa0001'), host: 'engine a', engine: 'a' };
    await update({ begin });
    await update({ worker: workerOf('b') });
    expect(grantedBy(await update({ back: begin.id }))).toEqual({});
    expect(await update({ begin })).toMatchObject({ started: { engine: 'a' } });
    await update({ worker: { ...workerOf('a'), slots: 0 } });
    expect(grantedBy(await update({ back: begin.id }))).toEqual({ aaaa0001: 'b' });
  });

  test('if its worker is silent, which learns that it has lost the story and cannot begin it again', async () => {
    scheduler = openAt(40);
    await update({ worker: workerOf('a') });
    await offer('aaaa0001', on);
    const id = idOf('aaaa0001');
    const { started } = await update({ begin: { id, host: 'engine a', engine: 'a' } });
    await update({ worker: { ...workerOf('a'), slots: 0 } });
    await expect
      .poll(async () => grantedBy(await update({ worker: workerOf('b') })), { interval: 10 })
      .toEqual({ aaaa0001: 'b' });
    scheduler = openAt(60_000);
    const working = { [id]: started as JobEntry };
    expect(await update({ worker: workerOf('a'), working })).toMatchObject({ lost: [id] });
    expect((await update({ begin: { id, host: 'engine a', engine: 'a' } })).started).toBeUndefined();
    const second = await update({ begin: { id, host: 'engine b', engine: 'b' } });
    expect(second.started).toMatchObject({ engine: 'b' });
    expect(await update({ working: { [id]: second.started as JobEntry } })).toMatchObject({ lost: [] });
  });

  test('if it may no longer run where it has a slot', async () => {
    await update({ worker: workerOf('a') });
    await offer('aaaa0001', on);
    await offer('aaaa0001', { engines: ['b'] });
    const id = idOf('aaaa0001');
    expect((await update({ begin: { id, host: 'engine a', engine: 'a' } })).started).toBeUndefined();
    const due = async () => grantedBy(await update({ worker: workerOf('b') }));
    await expect.poll(due, { timeout: 3_000 }).toEqual({ aaaa0001: 'b' });
  });
});

describe('workers of two engines', () => {
  let queue: StoryQueue;
  const consumers: JobConsumer[] = [];

  test.beforeEach(async () => {
    const rankOf = () => Promise.resolve(rank({ engines: ['local', 'b'] }));
    queue = await openQueue(link, { rankOf, limits: () => Promise.resolve(limits) });
  });
  afterEach(async () => {
    await Promise.all(consumers.splice(0).map((each) => each.close(500)));
    await queue.close();
  });

  async function start(engine: string, handle: (runId: string, signal: AbortSignal) => Promise<void>) {
    const consumer = new JobConsumer(link, {
      ...{ id: `worker of ${engine}`, engine, concurrency: 1, tickMs: 50, onError: () => undefined },
      async handle({ runId }, signal) {
        await handle(runId, signal);
        return { kind: 'done' };
      },
    });
    consumers.push(consumer);
    await consumer.start();
    return consumer;
  }

  test('a worker that closes hands its story to the other engine, which runs it once', async () => {
    const seen: string[] = [];
    const first = await start('b', (runId, signal) => {
      seen.push(`b ${runId}`);
      return new Promise((_, reject) => signal.addEventListener('abort', () => reject(signal.reason as Error)));
    });
    await queue.enqueue({ runId: 'aaaa0001', ordinal: 0, attempt: 1 });
    await expect.poll(() => seen).toEqual(['b aaaa0001']);
    expect(await queue.counts()).toMatchObject({ waiting: 0, active: 1 });
    await start('local', (runId) => Promise.resolve(void seen.push(`local ${runId}`)));
    await first.close(5_000);
    await expect.poll(() => seen).toEqual(['b aaaa0001', 'local aaaa0001']);
    await expect.poll(() => queue.counts()).toEqual({ waiting: 0, active: 0, delayed: 0, failed: 0 });
    await start('b', (runId) => Promise.resolve(void seen.push(`b again ${runId}`)));
    await expect.poll(async () => (await queue.workers()).length).toBe(2);
    expect(seen).toEqual(['b aaaa0001', 'local aaaa0001']);
    expect((await queue.workers()).map(({ engine }) => engine).sort()).toEqual(['b', 'local']);
  });
});
