import { once } from 'node:events';
import { writeFileSync } from 'node:fs';
import { connect, createServer, type AddressInfo, type Socket } from 'node:net';
import { join } from 'node:path';
import { Queue } from 'bullmq';
import { describe, expect, it, vi } from 'vitest';
import { sleep } from '../../src/lib/async.ts';
import { JobConsumer } from '../../src/queue/consumer.ts';
import { queueOf } from '../../src/queue/job.ts';
import { openQueue } from '../../src/queue/queue.ts';
import { connectRedis } from '../../src/queue/redis/connect-redis.ts';
import { connectRedisClient } from '../../src/queue/redis/redis-client.ts';
import { OK, prdOf, scripted } from '../support/halo/halo.ts';
import { openHome } from '../support/halo/halo-process.ts';
import { expectOneError } from '../support/halo/refusal.ts';
import { PATIENCE } from '../support/patience.ts';
import { openRedisServer } from '../support/redis/redis-server.ts';
import { openWorkerOnRedis, withSilence, type WorkerOnRedis } from '../support/redis/worker-on-redis.ts';
import { newRepository } from '../support/repository/new-repository.ts';
import { skipFor } from '../support/skip.ts';
import { ALL, belowLevel, FULL } from '../support/suite/level.ts';
import { tempDir } from '../support/temp-dir.ts';

// These tests wait for the real timeouts of connections, so they wait at the same time.
vi.setConfig({ maxConcurrency: 20 });

/** Longer than the pauses after which a client, or the queue's own watchdog, may give a connection up. */
const OUTAGES = [
  { seconds: 3, level: 0 },
  { seconds: 10, level: FULL },
  { seconds: 60, level: ALL },
];

describe.concurrent('hazard 7: Redis is unavailable', () => {
  for (const { seconds, level } of OUTAGES) {
    it.for(['idle', 'busy'] as const)(
      `a worker that is %s while Redis is unavailable for ${seconds} s takes the next job within 30 seconds`,
      skipFor(belowLevel(level)),
      async (state) => {
        const stage = await openWorkerOnRedis();
        try {
          if (state === 'busy') await stage.occupy();
          await stage.server.kill();
          await sleep(seconds * 500);
          const early = stage.queue.enqueue({ runId: 'abcdefgh02', ordinal: 0, attempt: 1 });
          await expect(early).rejects.toMatchObject({ code: 'REDIS_UNAVAILABLE' });
          stage.finish();
          await sleep(seconds * 500);
          stage.server.start();
          await stage.untilNextIsTaken();
        } finally {
          await stage.close();
        }
      },
    );
  }
});

/** Longer than the timeout of a reply. */
const LONG_MS = 20_000;

interface Trouble {
  what: string;
  begin: (stage: WorkerOnRedis) => void;
  /** Ends the trouble after a while; absent: it lasts. */
  repair?: (stage: WorkerOnRedis) => void;
  level?: number;
}

const TROUBLES: Trouble[] = [
  { what: 'its connections are forgotten on the way', begin: ({ proxy }) => proxy.forgetAll() },
  {
    what: 'nothing is answered, not even to new connections',
    begin: ({ proxy }) => proxy.turn('black hole'),
    repair({ proxy }) {
      proxy.forgetAll();
      proxy.turn('clear');
    },
    level: FULL,
  },
  {
    what: 'all connections are reset, also new ones',
    begin: ({ proxy }) => proxy.turn('reset'),
    repair: ({ proxy }) => proxy.turn('clear'),
    level: FULL,
  },
  {
    what: 'every piece comes three seconds late',
    begin: ({ proxy }) => proxy.turn({ slowMs: 3000 }),
    repair: ({ proxy }) => proxy.turn('clear'),
    level: FULL,
  },
  {
    what: 'the server is stopped',
    begin: ({ server }) => server.signal('SIGSTOP'),
    repair: ({ server }) => server.signal('SIGCONT'),
    level: FULL,
  },
];

describe.concurrent('hazard 7: a connection to Redis that is half dead', () => {
  for (const { what, begin, repair, level = 0 } of TROUBLES) {
    it.for(['idle', 'busy'] as const)(
      `a worker that is %s while ${what} takes the next job within 30 seconds`,
      skipFor(belowLevel(level)),
      async (state) => {
        const stage = await openWorkerOnRedis();
        try {
          if (state === 'busy') await stage.occupy();
          begin(stage);
          if (repair !== undefined) await sleep(LONG_MS / 2);
          stage.finish();
          if (repair !== undefined) await sleep(LONG_MS / 2);
          repair?.(stage);
          await stage.untilNextIsTaken();
        } finally {
          await stage.close();
        }
      },
    );
  }

  it(
    'a producer gets an error, and can queue again as soon as the connection works',
    skipFor(belowLevel(FULL)),
    async () => {
      const stage = await openWorkerOnRedis();
      const queue = await openQueue(stage.near);
      const job = { runId: 'abcdefgh03', ordinal: 0, attempt: 1 };
      try {
        stage.proxy.turn('black hole');
        await expect(queue.enqueue(job)).rejects.toMatchObject({ code: 'REDIS_UNAVAILABLE' });
        stage.proxy.forgetAll();
        stage.proxy.turn('clear');
        await vi.waitFor(() => queue.enqueue(job), { ...PATIENCE, interval: 500 });
      } finally {
        await queue.close();
        await stage.close();
      }
    },
  );
});

describe.concurrent('hazard 9: Redis is full', () => {
  const job = { runId: 'abcdefgh01', ordinal: 0, attempt: 1 };

  it('a job that runs longer than its lock meanwhile continues, and completes once', async ({ expect }) => {
    const worker = await openTestConsumer();
    const { link } = worker;
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

  it('a worker whose job ends does not poll for the next one, and takes it when there is space', async ({ expect }) => {
    const worker = await openTestConsumer();
    const { link } = worker;
    await worker.queue.enqueue(job);
    await expect.poll(() => worker.signals).toHaveLength(1);
    const raw = new Queue(queueOf({ lane: '' }), {
      connection: link.client,
      prefix: link.prefix,
      skipVersionCheck: true,
    });
    await raw.add('story', { runId: job.runId, ordinal: 1 }, { jobId: 's-abcdefgh01-1-a1' });
    await link.client.config('SET', 'maxmemory', '1');
    // Its lock is gone by then, which sends the worker to the next job, and that one it cannot take.
    await sleep(TAKEOVER_MS * 3);
    worker.finish();
    await sleep(2500);
    await link.client.config('SET', 'maxmemory', '0');
    expect(worker.faults.join()).toContain('is out of memory');
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
  const server = await openRedisServer();
  const link = await vi.waitFor(() => connectRedis({ home: tempDir('halo-full'), redisUrl: server.url }), PATIENCE);
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
    await link.close();
    await server.close();
  };
  return { link, queue, taken, signals, faults, finish, close };
}

describe.concurrent('a server that does not answer', () => {
  it('is REDIS_UNAVAILABLE if it never answers', async () => {
    const silent = createServer().listen(0, '127.0.0.1');
    await once(silent, 'listening');
    const { port } = silent.address() as AddressInfo;
    const opening = connectRedis({ home: tempDir('halo-silent'), redisUrl: `redis://127.0.0.1:${port}` });
    await expect(opening).rejects.toMatchObject({
      code: 'REDIS_UNAVAILABLE',
      message: expect.stringContaining('no answer within') as string,
      hint: expect.any(String) as string,
    });
    silent.close();
  });

  it('is REDIS_UNAVAILABLE if it accepts connections and never answers, and none stays open', async ({ expect }) => {
    const { port, near, close } = await openDoor(0);
    const opening = connectRedisClient({
      options: { host: '127.0.0.1', port, socketTimeout: 1_000 },
      name: 'the route',
    });
    await expect(opening).rejects.toMatchObject({ code: 'REDIS_UNAVAILABLE' });
    await expect.poll(() => near.size).toBe(0);
    await close();
  });

  it('is REDIS_UNAVAILABLE if it answers the connection of a command and not that of the queue', async () => {
    const { port, close } = await openDoor(1);
    const link = await connectRedis({ home: tempDir('halo-stalled'), redisUrl: `redis://127.0.0.1:${port}` });
    await expect(openQueue(withSilence(link, 1_000))).rejects.toMatchObject({
      code: 'REDIS_UNAVAILABLE',
      message: expect.stringContaining('Could not connect to Redis') as string,
    });
    await link.close();
    await close();
  });
});

/** A server that answers on `count` connections and on no more. */
async function openDoor(count: number) {
  const server = await openRedisServer();
  const near = new Set<Socket>();
  let connections = 0;
  const route = createServer((socket) => {
    near.add(socket);
    socket.on('error', () => undefined).once('close', () => near.delete(socket));
    if (connections++ < count) socket.pipe(connect(server.socket)).pipe(socket);
    else socket.resume();
  });
  route.listen(0, '127.0.0.1');
  await once(route, 'listening');
  const { port } = route.address() as AddressInfo;
  const close = () => {
    route.close();
    return server.close();
  };
  return { port, near, close };
}

it.concurrent(
  'submit ends with an error if Redis answers on the first connection and on no more',
  { timeout: 300_000, ...skipFor(belowLevel(FULL)) },
  async ({ onTestFinished }) => {
    const home = openHome();
    const repository = newRepository();
    const side = tempDir('halo-stalled');
    const { port, close } = await openDoor(1);
    onTestFinished(async () => {
      await home.close();
      await close();
    });
    const prd = join(side, 'prd.json');
    writeFileSync(prd, prdOf([{ id: 'A' }]).bytes);
    const settings = scripted(OK).flatMap((setting) => ['-c', setting]);
    const ended = await home.halo(['submit', prd, '--repo', repository.root, ...settings], {
      cwd: side,
      env: { HALO_REDIS_URL: `redis://127.0.0.1:${port}` },
    });
    expectOneError(ended, 5, ['Could not connect to Redis']);
  },
);
