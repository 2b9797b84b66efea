import { pino } from 'pino';
import { afterEach, beforeEach, describe, expect, it, vi } from 'vitest';
import { checkQueue } from '../../src/api/doctor/diagnose.ts';
import { openLocal } from '../../src/api/local.ts';
import type { Host } from '../../src/config/config.ts';
import { JobConsumer } from '../../src/queue/consumer.ts';
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
});

describe('hazard 9: Redis refuses writes, as with a full disk', () => {
  it('lets a worker start, which says so and takes jobs when Redis can write again', async () => {
    const queue = await openQueue(link);
    await queue.enqueue({ runId: 'abcdefgh01', ordinal: 0, attempt: 1 });
    await link.client.config('SET', 'min-replicas-to-write', '1');
    const errors: Error[] = [];
    const handled: string[] = [];
    const consumer = new JobConsumer(link, {
      concurrency: 1,
      tickMs: 20,
      handle: ({ runId }) => {
        handled.push(runId);
        return Promise.resolve({ kind: 'done' });
      },
      onError: (error) => errors.push(error),
    });
    await consumer.start();
    await vi.waitFor(() => expect(errors.length).toBeGreaterThan(0), PATIENCE);
    expect(errors[0]).toMatchObject({ code: 'REDIS_UNAVAILABLE', message: containing('accepts no jobs: NOREPLICAS') });
    await link.client.config('SET', 'min-replicas-to-write', '0');
    await vi.waitFor(() => expect(handled).toEqual(['abcdefgh01']), PATIENCE);
    await consumer.close(500);
    await queue.close();
  });
});

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
    await expect(
      operations.submit({ ...request, prd: prdOf([{ id: 'A' }]) }).then(({ runs }) => runs),
    ).rejects.toMatchObject(refusal);
    expect((await operations.listRuns()).runs).toEqual([]);
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
