import { mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { expect, vi } from 'vitest';
import { JobConsumer } from '../../../src/queue/consumer.ts';
import { openQueue, type StoryQueue } from '../../../src/queue/queue.ts';
import { connectRedis, type RedisLink } from '../../../src/queue/redis/connect-redis.ts';
import { openRedisServer, type RedisServer } from './redis-server.ts';
import { openTcpProxy, type TcpProxy } from './tcp-proxy.ts';
import { PATIENCE } from '../patience.ts';

const RUN = 'abcdefgh01';

/** A worker with one slot behind a network of its own, a Redis that can go away, and a queue beside it. */
export interface WorkerOnRedis {
  server: RedisServer;
  /** Between the worker and Redis; the queue has a way of its own. */
  proxy: TcpProxy;
  link: RedisLink;
  /** As the worker sees it, through the proxy. */
  near: RedisLink;
  queue: StoryQueue;
  /** Takes the first job, which runs until `finish`. */
  occupy(): Promise<void>;
  finish(): void;
  /** Queues a job as soon as Redis takes it, and waits until the worker has it. */
  untilNextIsTaken(): Promise<void>;
  close(): Promise<void>;
}

/** Longer than the five seconds for which a worker blocks that knows of no later job. */
const SILENCE_MS = 7_000;

/** With connections that are dead when they had no reply for this time. */
export function withSilence(link: RedisLink, ms: number): RedisLink {
  return { ...link, address: { ...link.address, options: { ...link.address.options, socketTimeout: ms } } };
}

/** The maximum time until a worker continues after Redis is available again. */
const BACK_MS = 30_000;

export async function openWorkerOnRedis(): Promise<WorkerOnRedis> {
  const home = mkdtempSync(join(tmpdir(), 'halo-queue-'));
  const server = await openRedisServer();
  const link = await vi.waitFor(() => connectRedis({ home, redisUrl: server.url }), PATIENCE);
  const queue = await openQueue(link);
  const proxy = await openTcpProxy(server.socket);
  const near = withSilence(await connectRedis({ home, redisUrl: `redis://127.0.0.1:${proxy.port}` }), SILENCE_MS);
  const taken: string[] = [];
  let finish = (): void => undefined;
  const finished = new Promise<void>((resolve) => (finish = resolve));
  const consumer = new JobConsumer(near, {
    concurrency: 1,
    handle: (_job, _signal, { jobId }) => {
      taken.push(jobId);
      return (jobId.endsWith('a1') ? finished : Promise.resolve()).then(() => ({ kind: 'done' }));
    },
    onError: () => undefined,
  });
  await consumer.start();
  const enqueue = (attempt: number) => queue.enqueue({ runId: RUN, ordinal: 0, attempt });
  return {
    server,
    proxy,
    link,
    near,
    queue,
    async occupy() {
      await enqueue(1);
      await vi.waitFor(() => expect(taken).toHaveLength(1), PATIENCE);
    },
    finish,
    async untilNextIsTaken() {
      const by = Date.now() + BACK_MS;
      await vi.waitFor(() => enqueue(2), { timeout: BACK_MS, interval: 200 });
      // The first may come twice: its end is in the journal, and the queue may not know it.
      await vi.waitFor(() => expect(taken).toContain(`s-${RUN}-0-a2`), { timeout: by - Date.now(), interval: 100 });
    },
    async close() {
      finish();
      await consumer.close(500);
      await queue.close();
      await near.close();
      await link.close();
      await proxy.close();
      await server.close();
      rmSync(home, { recursive: true, force: true });
    },
  };
}
