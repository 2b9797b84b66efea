import { Queue, type JobsOptions } from 'bullmq';
import { afterEach, expect, vi } from 'vitest';
import { JobConsumer, type ConsumerOptions } from '../../src/queue/consumer.ts';
import { readDeadLetters } from '../../src/queue/dead-letters.ts';
import { queueOf } from '../../src/queue/job.ts';
import { openQueue, type StoryQueue } from '../../src/queue/queue.ts';
import { connectRedis, type RedisLink } from '../../src/queue/redis/connect-redis.ts';
import { deferred, sleep } from '../../src/lib/async.ts';
import { test } from '../support/fixtures.ts';
import { tempDir } from '../support/temp-dir.ts';

const RUN = 'abcdefgh01';
const JOB = { runId: RUN, ordinal: 0, attempt: 1 };

let link: RedisLink;
let queue: StoryQueue;
let consumers: JobConsumer[] = [];
test.beforeEach(async ({ link: opened }) => {
  link = opened;
  await link.client.flushall();
  queue = await openQueue(link);
});
afterEach(async () => {
  await Promise.all(consumers.map((consumer) => consumer.close(500)));
  consumers = [];
  await queue.close();
});

const errors: string[] = [];
type Handle = ConsumerOptions['handle'];
const DONE = { kind: 'done' } as const;

async function start(handle: Handle, concurrency = 2): Promise<JobConsumer> {
  const consumer = new JobConsumer(link, { concurrency, handle, onError: (error) => errors.push(error.message) });
  consumers.push(consumer);
  await consumer.start();
  return consumer;
}

const aborted = (signal: AbortSignal) => sleep(60_000, signal).then(() => Promise.reject(new Error('aborted')));

test('a job reaches a handler with its run id and a live signal, and completes', async () => {
  const seen: unknown[] = [];
  await start((job, signal) => {
    seen.push(job, signal instanceof AbortSignal && !signal.aborted);
    return Promise.resolve(DONE);
  });
  await queue.enqueue(JOB);
  await expect.poll(() => seen).toEqual([JOB, true]);
  await expect.poll(() => queue.counts()).toEqual({ waiting: 0, active: 0, delayed: 0, failed: 0 });
});

test('a job is repeated after its delay or after an infrastructure fault, and knows how long it was ready, from the end of its delay and only at its first start', async () => {
  const DELAY_MS = 400;
  const waited: (number | undefined)[] = [];
  const lastTries: boolean[] = [];
  const times: number[] = [];
  await queue.enqueue(JOB);
  await sleep(300);
  await start((_job, _signal, { queuedMs, lastTry }) => {
    waited.push(queuedMs);
    times.push(performance.now());
    lastTries.push(lastTry);
    if (waited.length === 2) return Promise.reject(new Error('disk full'));
    return Promise.resolve(waited.length === 1 ? { kind: 'again', afterMs: DELAY_MS } : DONE);
  });
  await expect.poll(() => waited).toHaveLength(3);
  const [first, delayed, repeated] = waited;
  expect(first).toBeGreaterThanOrEqual(300);
  expect(delayed).toBeLessThanOrEqual(times[1]! - times[0]! - DELAY_MS + 50);
  expect(repeated).toBeUndefined();
  expect(lastTries).toEqual([false, false, false]);
  expect(errors).toContain('disk full');
});

test('a story attempt is queued once, and another attempt is a separate job', async () => {
  await Promise.all(Array.from({ length: 10 }, () => queue.enqueue(JOB)));
  await queue.enqueue({ ...JOB, attempt: 2, delayMs: 60_000 });
  expect(await queue.counts()).toMatchObject({ waiting: 1, delayed: 1 });
});

test('an attempt whose job failed permanently can be queued again', async () => {
  const raw = rawQueue();
  await raw.add('story', { runId: 7 }, { jobId: `s-${RUN}-0-a1` });
  const seen: string[] = [];
  await start((job) => (seen.push(job.runId), Promise.resolve(DONE)));
  await expect.poll(() => readDeadLetters(link)).toHaveLength(1);
  await queue.enqueue(JOB);
  await expect.poll(() => seen).toEqual([RUN]);
  await raw.close();
});

test('foreign jobs become dead letters with the reason, and nothing else of them is kept', async () => {
  const raw = rawQueue();
  const forged: [name: string, data: unknown, opts: JobsOptions, reason: string][] = [
    ['story', { runId: '../etc', ordinal: 0 }, { attempts: 5 }, 'payload'],
    ['story', { runId: RUN, ordinal: 0, command: 'rm -rf /' }, { jobId: `s-${RUN}-0-a2` }, 'payload'],
    [
      'story',
      JSON.parse(`{"__proto__":{"polluted":1},"runId":"${RUN}","ordinal":0}`),
      { jobId: `s-${RUN}-0-a3` },
      'payload',
    ],
    ['story', { runId: RUN, ordinal: -1 }, {}, 'payload'],
    ['story', ['story'], {}, 'payload'],
    ['story', { runId: 'x'.repeat(5_000_000), ordinal: 0 }, {}, 'payload'],
    ['shell', { runId: RUN, ordinal: 0 }, { jobId: `s-${RUN}-0-a4` }, 'name'],
    ['story', { runId: RUN, ordinal: 0 }, { jobId: 'another' }, 'id'],
    ['story', { runId: RUN, ordinal: 0 }, { jobId: `s-${RUN}-1-a1` }, 'id'],
  ];
  const seen: string[] = [];
  for (const [name, data, opts] of forged) await raw.add(name, data, opts);
  await start((job) => (seen.push(job.runId), Promise.resolve(DONE)));
  await expect.poll(async () => (await readDeadLetters(link)).length).toBe(forged.length);
  const letters = (await readDeadLetters(link)).reverse();
  for (const [index, [name, , , reason]] of forged.entries()) {
    expect(letters[index]).toMatchObject({ name, queue: 'stories', reason: expect.stringContaining(reason) as string });
  }
  expect(letters.every(({ data }) => data.length < 600)).toBe(true);
  expect(({} as { polluted?: number }).polluted).toBeUndefined();
  await expect.poll(() => raw.getJobCounts()).toMatchObject({ failed: 0, completed: 0, waiting: 0 });
  expect(errors.join()).toContain('is not a job of this halo');
  expect(seen).toEqual([]);
  await queue.enqueue(JOB);
  await expect.poll(() => seen).toEqual([RUN]);
  await raw.close();
});

test('a job of an unknown run becomes a dead letter; their number is bounded', async () => {
  await start(() => Promise.resolve({ kind: 'rejected', reason: 'there is no such run' }));
  for (let attempt = 1; attempt <= 120; attempt++) await queue.enqueue({ ...JOB, attempt });
  await expect.poll(async () => (await readDeadLetters(link)).at(0)?.id).toBe(`s-${RUN}-0-a120`);
  expect(await readDeadLetters(link)).toHaveLength(100);
  await expect.poll(() => queue.counts()).toMatchObject({ waiting: 0, active: 0, delayed: 0, failed: 0 });
});

test('closing aborts the work and returns the job to another worker', async () => {
  const first = await start((_job, signal) => aborted(signal), 1);
  await queue.enqueue(JOB);
  await expect.poll(() => queue.counts()).toMatchObject({ active: 1 });
  await first.close(10_000);
  expect(await queue.counts()).toMatchObject({ active: 0, failed: 0 });
  const seen: string[] = [];
  await start((job) => (seen.push(job.runId), Promise.resolve(DONE)));
  await expect.poll(() => seen).toEqual([RUN]);
});

test('work that succeeds after an abort is not repeated', async () => {
  const begun = vi.fn();
  const first = await start((_job, signal) => (begun(), sleep(60_000, signal).then(() => DONE)), 1);
  await queue.enqueue(JOB);
  await expect.poll(() => begun).toHaveBeenCalled();
  await first.close(10_000);
  expect(await queue.counts()).toEqual({ waiting: 0, active: 0, delayed: 0, failed: 0 });
});

test('closing does not wait for a handler that never ends', async () => {
  const begun = vi.fn();
  const stuck = await start(() => (begun(), new Promise(() => undefined)), 1);
  await queue.enqueue(JOB);
  await expect.poll(() => begun).toHaveBeenCalled();
  await stuck.close(200);
  expect(await queue.counts()).toMatchObject({ active: 1 });
});

test('no more jobs than the limit run concurrently', async () => {
  let now = 0;
  let most = 0;
  let done = 0;
  const both = deferred<void>();
  await start(async () => {
    most = Math.max(most, ++now);
    if (now === 2) both.resolve();
    await both.promise;
    await sleep(20);
    now--;
    done++;
    return DONE;
  }, 2);
  for (let ordinal = 0; ordinal < 6; ordinal++) await queue.enqueue({ ...JOB, ordinal });
  await expect.poll(() => done).toBe(6);
  expect(most).toBe(2);
});

test('a producer whose Redis is unavailable fails immediately', async () => {
  const elsewhere = tempDir('halo-queue');
  const other = await connectRedis({ home: elsewhere, redisUrl: undefined });
  const producer = await openQueue(other);
  await other.close();
  await expect(producer.enqueue(JOB)).rejects.toMatchObject({ code: 'REDIS_UNAVAILABLE' });
  await producer.close();
});

/** The queue as anybody else who can reach Redis sees it. */
function rawQueue(): Queue {
  return new Queue(queueOf({ lane: '' }), { connection: link.client, prefix: link.prefix, skipVersionCheck: true });
}
