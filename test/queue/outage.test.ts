import { spawn, type ChildProcess } from 'node:child_process';
import { once } from 'node:events';
import { mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { pino } from 'pino';
import { afterEach, beforeEach, expect, test, vi } from 'vitest';
import { checkRedis } from '../../src/queue/check-redis.ts';
import { consume, type Consumer } from '../../src/queue/consume.ts';
import { openQueue, type StoryQueue } from '../../src/queue/queue.ts';
import { connectRedis, type RedisLink } from '../../src/queue/redis.ts';
import { sleep } from '../../src/lib/sleep.ts';
import { startWorker } from '../../src/worker/main.ts';

const RUN = 'abcdefgh01';
const job = (attempt: number) => ({ runId: RUN, ordinal: 0, attempt });

let home: string;
let server: ChildProcess;
let link: RedisLink;
let queue: StoryQueue;
let consumer: Consumer | undefined;

beforeEach(async () => {
  home = mkdtempSync(join(tmpdir(), 'halo-outage-'));
  startServer();
  const redisUrl = `unix://${join(home, 'redis.sock')}`;
  link = await vi.waitFor(() => connectRedis({ home, redisUrl }), { timeout: 10_000 });
  queue = await openQueue(link);
});
afterEach(async () => {
  await consumer?.close(500);
  consumer = undefined;
  await queue.close();
  await link.close();
  await stopServer();
  rmSync(home, { recursive: true, force: true });
});

function startServer(...more: string[]): void {
  const flags = ['--port', '0', '--unixsocket', join(home, 'redis.sock'), '--dir', home, '--save', ''];
  server = spawn('redis-server', [...flags, '--appendonly', 'yes', ...more], { stdio: 'ignore' });
}

async function stopServer(): Promise<void> {
  if (server.exitCode !== null || server.signalCode !== null) return;
  server.kill('SIGKILL');
  await once(server, 'exit');
}

async function start(handle: (attempt: string) => Promise<void>): Promise<void> {
  const options = { concurrency: 1, onError: () => undefined };
  consumer = consume(link, { ...options, handle: (_job, _signal, { jobId }) => handle(jobId) });
  await consumer.ready;
}

/** Longer than the pauses after which a client or the queue's own watchdog may give a connection up. */
const OUTAGES_MS = [3000, 10_000];

test.each(OUTAGES_MS)(
  'an idle worker takes jobs again after Redis was away for %d ms',
  { timeout: 90_000 },
  async (ms) => {
    const taken: string[] = [];
    await start((id) => Promise.resolve(void taken.push(id)));
    await stopServer();
    await sleep(ms);
    await expect(queue.enqueue(job(1))).rejects.toMatchObject({ code: 'REDIS_UNAVAILABLE' });
    startServer();
    await vi.waitFor(() => queue.enqueue(job(2)), { timeout: 30_000, interval: 200 });
    await vi.waitFor(() => expect(taken).toEqual([`s-${RUN}-0-a2`]), { timeout: 30_000, interval: 100 });
  },
);

test('a worker whose job ends while Redis is away goes on with the next one', { timeout: 120_000 }, async () => {
  const taken: string[] = [];
  let finish = (): void => undefined;
  await start(async (id) => {
    taken.push(id);
    if (taken.length === 1) await new Promise<void>((resolve) => (finish = resolve));
  });
  await queue.enqueue(job(1));
  await vi.waitFor(() => expect(taken).toHaveLength(1), { timeout: 10_000 });
  await stopServer();
  finish();
  await sleep(7000);
  startServer();
  await vi.waitFor(() => queue.enqueue(job(2)), { timeout: 30_000, interval: 200 });
  // The first may come twice: its end is in the journal, and the queue may not have heard of it.
  await vi.waitFor(() => expect(taken).toContain(`s-${RUN}-0-a2`), { timeout: 60_000, interval: 100 });
});

test('a full Redis takes no more jobs and says so, and goes on when it has room', async () => {
  await link.client.config('SET', 'maxmemory', '1');
  await expect(queue.enqueue(job(1))).rejects.toMatchObject({
    code: 'REDIS_UNAVAILABLE',
    message: expect.stringContaining('is full: it takes no more jobs') as string,
  });
  await link.client.config('SET', 'maxmemory', '0');
  await queue.enqueue(job(1));
  expect(await queue.counts()).toMatchObject({ waiting: 1 });
});

test('a Redis that drops what it is given is found out, and no worker starts on it', async () => {
  await link.client.config('SET', 'maxmemory-policy', 'allkeys-lru');
  await link.client.config('SET', 'appendonly', 'no');
  expect(await checkRedis(link)).toMatchObject([{ level: 'bad' }, { level: 'warn' }]);
  const host = { home, redisUrl: `unix://${join(home, 'redis.sock')}`, apiUrl: undefined, apiToken: undefined };
  const starting = startWorker({ host, concurrency: 1, log: pino({ level: 'silent' }) });
  await expect(starting).rejects.toMatchObject({
    code: 'REDIS_UNAVAILABLE',
    message: expect.stringContaining('maxmemory-policy is allkeys-lru') as string,
  });
});
