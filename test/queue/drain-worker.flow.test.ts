import { afterEach, expect } from 'vitest';
import { JobConsumer } from '../../src/queue/consumer.ts';
import { openQueue, type StoryQueue } from '../../src/queue/queue.ts';
import type { RedisLink } from '../../src/queue/redis/connect-redis.ts';
import { test } from '../support/fixtures.ts';
import { PATIENCE as LONG } from '../support/patience.ts';

const PATIENCE = { ...LONG, interval: 10 };
/** A worker renews its registration with each tick. */
const TICK_MS = 50;

let link: RedisLink;
let queue: StoryQueue;
let consumers: JobConsumer[];
let unfinished: (() => void)[];

test.beforeEach(async ({ link: opened }) => {
  link = opened;
  await link.client.flushall();
  consumers = [];
  unfinished = [];
  queue = await openQueue(link);
});
afterEach(async () => {
  for (const finish of unfinished) finish();
  await Promise.all(consumers.map((consumer) => consumer.close(500)));
  await queue.close();
});

/** A worker whose jobs run until they are finished here. */
async function start(id: string, concurrency = 1) {
  const taken: string[] = [];
  const running = new Map<string, () => void>();
  const consumer = new JobConsumer(link, {
    id,
    concurrency,
    tickMs: TICK_MS,
    handle: async ({ runId }) => {
      taken.push(runId);
      await new Promise<void>((resolve) => {
        running.set(runId, resolve);
        unfinished.push(resolve);
      });
      running.delete(runId);
      return { kind: 'done' };
    },
    onError: () => undefined,
  });
  consumers.push(consumer);
  await consumer.start();
  return { taken, running, finish: (runId: string) => running.get(runId)?.() };
}

const enqueue = (runId: string) => queue.enqueue({ runId, ordinal: 0, attempt: 1 });

const registrations = () => link.client.hgetall(`${link.prefix}:slots:workers`);

/** Waits until the worker has renewed its registration, so that it knows what the queue decided. */
async function untilRenewed(id: string): Promise<void> {
  const before = (await registrations())[id];
  await expect.poll(async () => (await registrations())[id], PATIENCE).not.toBe(before);
}

const viewOf = async (id: string) => (await queue.workers()).find((worker) => worker.id === id);

test('a drained worker finishes its job and takes no other, until it is resumed', async () => {
  const worker = await start('one', 2);
  await enqueue('aaaa0000');
  await expect.poll(() => worker.taken, PATIENCE).toEqual(['aaaa0000']);
  expect((await queue.fleetUse()).slots).toEqual([{ engine: 'local', busy: 1, free: 1 }]);
  expect(await queue.drain('one', true)).toBe(true);
  await enqueue('bbbb0000');
  await untilRenewed('one');
  await untilRenewed('one');
  expect(worker.taken).toEqual(['aaaa0000']);
  expect(await viewOf('one')).toMatchObject({ draining: true, slots: 2, busy: 1 });
  expect((await queue.fleetUse()).slots).toEqual([{ engine: 'local', busy: 1, free: 0 }]);
  worker.finish('aaaa0000');
  await expect.poll(() => viewOf('one'), PATIENCE).toMatchObject({ draining: true, busy: 0 });
  await untilRenewed('one');
  expect(worker.taken).toEqual(['aaaa0000']);
  expect(await queue.counts()).toMatchObject({ waiting: 1, active: 0 });
  expect((await queue.fleetUse()).slots).toEqual([{ engine: 'local', busy: 0, free: 0 }]);
  expect(await queue.drain('one', false)).toBe(true);
  await expect.poll(() => worker.taken, PATIENCE).toEqual(['aaaa0000', 'bbbb0000']);
  await enqueue('cccc0000');
  await expect.poll(() => worker.taken, PATIENCE).toEqual(['aaaa0000', 'bbbb0000', 'cccc0000']);
});

test('a job that is queued right before a drain starts exactly once', async () => {
  const first = await start('one');
  await enqueue('aaaa0000');
  await expect.poll(() => first.taken, PATIENCE).toEqual(['aaaa0000']);
  const second = await start('two');
  await enqueue('bbbb0000');
  await queue.drain('two', true);
  const { taken } = second;
  first.finish('aaaa0000');
  await expect.poll(() => [...first.taken, ...taken].toSorted(), PATIENCE).toEqual(['aaaa0000', 'bbbb0000']);
  second.finish('bbbb0000');
  await expect.poll(() => viewOf('two'), PATIENCE).toMatchObject({ busy: 0 });
  expect([...first.taken, ...taken]).toHaveLength(2);
});

test('a job that has a slot is not lost when the only idle worker is drained', async () => {
  const busy = await start('busy');
  await enqueue('aaaa0000');
  await expect.poll(() => busy.taken, PATIENCE).toEqual(['aaaa0000']);
  // A worker that is registered and polls nothing: jobs get its slot, and wait for a worker that takes them.
  const { client, prefix } = link;
  const registration = {
    id: 'idle',
    lane: '',
    host: 'here',
    slots: 1,
    pid: 1,
    version: '1',
    busy: 0,
    lapses: Date.now() + 60_000,
    draining: false,
  };
  await client.hset(`${prefix}:slots:workers`, 'idle', JSON.stringify(registration));
  await enqueue('bbbb0000');
  expect(await client.zcard(`${prefix}:slots:leases`)).toBe(2);
  await queue.drain('idle', true);
  expect(busy.taken).toEqual(['aaaa0000']);
  busy.finish('aaaa0000');
  await expect.poll(() => busy.taken, PATIENCE).toEqual(['aaaa0000', 'bbbb0000']);
});

test('a drained worker that was polling when a job came gives it to another worker', async () => {
  const idle = await start('idle');
  await untilRenewed('idle');
  await queue.drain('idle', true);
  const busy = await start('busy', 2);
  for (const runId of ['aaaa0000', 'bbbb0000']) await enqueue(runId);
  await expect.poll(() => busy.taken.toSorted(), PATIENCE).toEqual(['aaaa0000', 'bbbb0000']);
  expect(idle.taken).toEqual([]);
});

test('other workers keep all of their slots while one drains', async () => {
  const drained = await start('one');
  await enqueue('aaaa0000');
  await expect.poll(() => drained.taken, PATIENCE).toEqual(['aaaa0000']);
  await queue.drain('one', true);
  const other = await start('two', 2);
  for (const runId of ['bbbb0000', 'cccc0000', 'dddd0000']) await enqueue(runId);
  await expect.poll(() => other.running.size, PATIENCE).toBe(2);
  drained.finish('aaaa0000');
  await untilRenewed('one');
  expect(other.taken).toHaveLength(2);
  expect(drained.taken).toEqual(['aaaa0000']);
});

test('a worker drains on after its registration lapsed and after Redis lost all data', async () => {
  const worker = await start('one');
  await queue.drain('one', true);
  await untilRenewed('one');
  await link.client.hdel(`${link.prefix}:slots:workers`, 'one');
  await expect.poll(() => viewOf('one'), PATIENCE).toMatchObject({ draining: true });
  await link.client.flushall();
  await expect.poll(() => viewOf('one'), PATIENCE).toMatchObject({ draining: true });
  await enqueue('aaaa0000');
  await untilRenewed('one');
  expect(worker.taken).toEqual([]);
  await queue.drain('one', false);
  await expect.poll(() => worker.taken, PATIENCE).toEqual(['aaaa0000']);
});

test('an order reaches a worker whose registration lapsed before it learned of the order', async () => {
  const worker = await start('one');
  for (const draining of [true, false]) {
    expect(await queue.drain('one', draining)).toBe(true);
    await link.client.hdel(`${link.prefix}:slots:workers`, 'one');
    await expect.poll(() => viewOf('one'), PATIENCE).toMatchObject({ draining });
    await untilRenewed('one');
    expect(await viewOf('one')).toMatchObject({ draining });
  }
  await enqueue('aaaa0000');
  await expect.poll(() => worker.taken, PATIENCE).toEqual(['aaaa0000']);
});

test('a worker that has just started a job is busy when it is drained', async () => {
  const busy: unknown[] = [];
  consumers.push(
    new JobConsumer(link, {
      id: 'one',
      concurrency: 1,
      tickMs: TICK_MS,
      handle: async () => {
        await queue.drain('one', true);
        busy.push((await viewOf('one'))?.busy);
        return { kind: 'done' };
      },
      onError: () => undefined,
    }),
  );
  await consumers[0]!.start();
  await enqueue('aaaa0000');
  await expect.poll(() => busy, PATIENCE).toEqual([1]);
  await expect.poll(() => viewOf('one'), PATIENCE).toMatchObject({ draining: true, busy: 0 });
});

test('a worker that is not registered cannot be drained', async () => {
  expect(await queue.drain('one', true)).toBe(false);
  expect(await queue.workers()).toEqual([]);
});
