import { Queue } from 'bullmq';
import { pino } from 'pino';
import { afterEach, beforeEach, describe, expect, it, vi } from 'vitest';
import { checkQueue } from '../../src/api/doctor/diagnose.ts';
import { openLocal } from '../../src/api/local.ts';
import type { Host } from '../../src/config/config.ts';
import { sleep } from '../../src/lib/async.ts';
import { JobConsumer } from '../../src/queue/consumer.ts';
import { queueName } from '../../src/queue/job.ts';
import { openQueue } from '../../src/queue/queue.ts';
import { connectRedis, type RedisLink } from '../../src/queue/redis/connect-redis.ts';
import { startWorker } from '../../src/worker/main.ts';
import { OK, prdOf, scripted } from '../support/halo/halo.ts';
import { openRedisServer, type RedisServer } from '../support/redis/redis-server.ts';
import { tempDir } from '../support/temp-dir.ts';
import { hostOf } from '../support/halo/host.ts';
import { newRepository } from '../support/repository/new-repository.ts';
import { PATIENCE } from '../support/patience.ts';

const containing = (text: string) => expect.stringContaining(text) as string;

let host: Host;
let server: RedisServer;
let link: RedisLink;

beforeEach(async () => {
  server = await openRedisServer();
  const home = tempDir('halo-unfit');
  host = hostOf(home, server.url);
  link = await vi.waitFor(() => connectRedis(host), PATIENCE);
});
afterEach(async () => {
  await link.close();
  await server.close();
});

describe('hazard 9: Redis is full', () => {
  const job = { runId: 'abcdefgh01', ordinal: 0, attempt: 1 };

  it('refuses jobs with an error, and accepts them again when it has room', async () => {
    const queue = await openQueue(link);
    await link.client.config('SET', 'maxmemory', '1');
    await expect(queue.enqueue(job)).rejects.toMatchObject({
      code: 'REDIS_UNAVAILABLE',
      message: containing('is out of memory and accepts no more jobs'),
    });
    await link.client.config('SET', 'maxmemory', '0');
    await queue.enqueue(job);
    expect(await queue.counts()).toMatchObject({ waiting: 1 });
    await queue.close();
  });

  it('a job that runs longer than its lock meanwhile continues, and completes once', async () => {
    const worker = await openTestConsumer();
    await worker.queue.enqueue(job);
    await expect.poll(() => worker.signals).toHaveLength(1);
    await link.client.config('SET', 'maxmemory', '1');
    await sleep(TAKEOVER_MS * 3);
    await link.client.config('SET', 'maxmemory', '0');
    await sleep(TAKEOVER_MS * 2);
    expect(worker.signals.map(({ aborted }) => aborted)).toEqual([false]);
    worker.finish();
    await expect.poll(() => worker.queue.counts()).toEqual({ waiting: 0, active: 0, delayed: 0, failed: 0 });
    expect(worker.taken).toHaveLength(1);
    await worker.close();
  });

  it('a worker whose job ends does not poll for the next one, and takes it when there is space', async () => {
    const worker = await openTestConsumer();
    await worker.queue.enqueue(job);
    await expect.poll(() => worker.signals).toHaveLength(1);
    const raw = new Queue(queueName(), { connection: link.client, prefix: link.prefix, skipVersionCheck: true });
    await raw.add('story', { runId: job.runId, ordinal: 1 }, { jobId: 's-abcdefgh01-1-a1' });
    await link.client.config('SET', 'maxmemory', '1');
    // Its lock is gone by then, which sends the worker to the next job, and that one it cannot take.
    await sleep(TAKEOVER_MS * 3);
    worker.finish();
    await sleep(4000);
    await link.client.config('SET', 'maxmemory', '0');
    expect(worker.faults.join()).toContain('OOM');
    // Once a second for its turns, and some for the queue; without a rest, ten thousands a second.
    expect(worker.faults.length).toBeLessThan(50);
    await worker.queue.enqueue({ ...job, attempt: 2 });
    await expect.poll(() => worker.taken).toContain('s-abcdefgh01-0-a2');
    await raw.close();
    await worker.close();
  });
});

const TAKEOVER_MS = 2000;

/** Takes jobs one by one; they run until `finish`. */
async function openTestConsumer() {
  const taken: string[] = [];
  const signals: AbortSignal[] = [];
  const faults: string[] = [];
  let finish = (): void => undefined;
  const finished = new Promise<void>((resolve) => (finish = resolve));
  const consumer = new JobConsumer(link, {
    concurrency: 1,
    takeoverMs: TAKEOVER_MS,
    handle: (_job, signal, { jobId }) => {
      taken.push(jobId);
      signals.push(signal);
      return finished.then(() => ({ kind: 'done' }));
    },
    onError: ({ message }) => void faults.push(message),
  });
  await consumer.start();
  const queue = await openQueue(link);
  const close = async () => {
    await consumer.close(500);
    await queue.close();
  };
  return { queue, taken, signals, faults, finish, close };
}

describe('hazard 10: Redis may forget', () => {
  it('doctor fails, no worker starts, and no run is created with an eviction policy that may drop keys', async () => {
    await link.client.config('SET', 'maxmemory-policy', 'allkeys-lru');
    expect(await checkQueue(host)).toMatchObject([
      { ok: 'fail', says: containing('is allkeys-lru'), fix: containing('noeviction') },
    ]);
    const refusal = { code: 'REDIS_UNAVAILABLE', message: containing('maxmemory-policy is allkeys-lru') };
    const starting = startWorker({ host, concurrency: 1, log: pino({ level: 'silent' }) });
    await expect(starting).rejects.toMatchObject(refusal);
    const repository = newRepository();
    const operations = openLocal({ host });
    const request = { repos: [repository.root], set: scripted(OK), profile: undefined, allowDirty: false };
    await expect(operations.submit({ ...request, prd: prdOf([{ id: 'A' }]) })).rejects.toMatchObject(refusal);
    expect(await operations.list()).toEqual([]);
    await operations.close();
  });

  it('doctor and the worker warn of a Redis without a log on disk', async () => {
    await link.client.config('SET', 'appendonly', 'no');
    const says = containing('its append-only file is off');
    expect(await checkQueue(host)).toMatchObject([{ ok: 'warn', says, fix: containing('appendonly yes') }]);
    const lines: string[] = [];
    const log = pino({ level: 'warn' }, { write: (line: string) => void lines.push(line) });
    const worker = await startWorker({ host, concurrency: 1, log });
    await worker.close();
    expect(lines.map((line) => JSON.parse(line) as object)).toContainEqual(expect.objectContaining({ msg: says }));
  });
});
