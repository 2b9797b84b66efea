import { mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { pino } from 'pino';
import { afterEach, beforeEach, describe, expect, it, vi } from 'vitest';
import { checkQueue } from '../../src/api/doctor.ts';
import type { Host } from '../../src/config/config.ts';
import { sleep } from '../../src/lib/sleep.ts';
import { consume } from '../../src/queue/consume.ts';
import { openQueue } from '../../src/queue/queue.ts';
import { connectRedis, type RedisLink } from '../../src/queue/redis.ts';
import { startWorker } from '../../src/worker/main.ts';
import { openRedisServer, type RedisServer } from '../support/redis-server.ts';

const containing = (text: string) => expect.stringContaining(text) as string;

let host: Host;
let server: RedisServer;
let link: RedisLink;

beforeEach(async () => {
  server = openRedisServer();
  const home = mkdtempSync(join(tmpdir(), 'halo-unfit-'));
  host = { home, redisUrl: server.url, apiUrl: undefined, apiToken: undefined };
  link = await vi.waitFor(() => connectRedis(host), { timeout: 10_000 });
});
afterEach(async () => {
  await link.close();
  await server.close();
  rmSync(host.home, { recursive: true, force: true });
});

describe('hazard 9: Redis is full', () => {
  const job = { runId: 'abcdefgh01', ordinal: 0, attempt: 1 };

  it('takes no more jobs and says so, and goes on when it has room', async () => {
    const queue = await openQueue(link);
    await link.client.config('SET', 'maxmemory', '1');
    await expect(queue.enqueue(job)).rejects.toMatchObject({
      code: 'REDIS_UNAVAILABLE',
      message: containing('is full: it takes no more jobs'),
    });
    await link.client.config('SET', 'maxmemory', '0');
    await queue.enqueue(job);
    expect(await queue.counts()).toMatchObject({ waiting: 1 });
    await queue.close();
  });

  it('a worker does not ask again and again meanwhile, and takes the next job when there is room', async () => {
    const taken: string[] = [];
    const faults: string[] = [];
    const consumer = consume(link, {
      concurrency: 2,
      handle: (_job, _signal, { jobId }) => Promise.resolve(void taken.push(jobId)),
      onError: ({ message }) => void faults.push(message),
    });
    await consumer.ready;
    const queue = await openQueue(link);
    await link.client.config('SET', 'maxmemory', '1');
    await sleep(8000);
    await link.client.config('SET', 'maxmemory', '0');
    await queue.enqueue(job);
    await expect.poll(() => taken, { timeout: 30_000 }).toEqual(['s-abcdefgh01-0-a1']);
    expect(faults.join()).toContain('OOM');
    // Once a second for its turns, and a few for the queue.
    expect(faults.length).toBeLessThan(40);
    await consumer.close(500);
    await queue.close();
  });
});

describe('hazard 10: Redis may forget', () => {
  it('what it drops when it is full: doctor fails, and no worker starts', async () => {
    await link.client.config('SET', 'maxmemory-policy', 'allkeys-lru');
    expect(await checkQueue(host)).toMatchObject([
      { ok: 'fail', says: containing('is allkeys-lru'), mend: containing('noeviction') },
    ]);
    const starting = startWorker({ host, concurrency: 1, log: pino({ level: 'silent' }) });
    await expect(starting).rejects.toMatchObject({
      code: 'REDIS_UNAVAILABLE',
      message: containing('maxmemory-policy is allkeys-lru'),
    });
  });

  it('what it has no log of on disk: doctor and the worker warn', async () => {
    await link.client.config('SET', 'appendonly', 'no');
    const says = containing('its append-only file is off');
    expect(await checkQueue(host)).toMatchObject([{ ok: 'warn', says, mend: containing('appendonly yes') }]);
    const lines: string[] = [];
    const log = pino({ level: 'warn' }, { write: (line: string) => void lines.push(line) });
    const worker = await startWorker({ host, concurrency: 1, log });
    await worker.close();
    expect(lines.map((line) => JSON.parse(line) as object)).toContainEqual(expect.objectContaining({ msg: says }));
  });
});
