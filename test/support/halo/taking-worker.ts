import { JobConsumer } from '../../../src/queue/consumer.ts';
import { openQueue } from '../../../src/queue/queue.ts';
import { connectRedis } from '../../../src/queue/redis/connect-redis.ts';
import { makeWorkerId, registerWorker } from '../../../src/store/process-registry.ts';
import { hostOf } from './host.ts';

/** A worker of a home whose jobs run until the test finishes them. */
export interface TakingWorker {
  id: string;
  /** The runs whose jobs it has started. */
  taken: string[];
  enqueue(runId: string): Promise<void>;
  finish(runId: string): void;
  close(): Promise<void>;
}

/** Registers a worker in the home and in its Redis, as `halo worker` does. */
export async function startTakingWorker(home: string, concurrency = 2): Promise<TakingWorker> {
  const id = makeWorkerId('any');
  const link = await connectRedis(hostOf(home));
  const queue = await openQueue(link);
  const taken: string[] = [];
  const running = new Map<string, () => void>();
  const consumer = new JobConsumer(link, {
    id,
    concurrency,
    handle: async ({ runId }) => {
      taken.push(runId);
      await new Promise<void>((resolve) => running.set(runId, resolve));
      return { kind: 'done' };
    },
    onError: () => undefined,
  });
  await consumer.start();
  const registration = await registerWorker(home, 'any', id);
  return {
    id,
    taken,
    enqueue: (runId) => queue.enqueue({ runId, ordinal: 0, attempt: 1 }),
    finish: (runId) => running.get(runId)?.(),
    async close() {
      for (const finish of running.values()) finish();
      await registration.leave();
      await consumer.close(500);
      await queue.close();
      await link.close();
    },
  };
}
