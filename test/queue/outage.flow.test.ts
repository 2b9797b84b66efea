import { describe, expect, it, vi } from 'vitest';
import { sleep } from '../../src/lib/async.ts';
import { ALL, belowLevel, FULL } from '../support/suite/level.ts';
import { openWorkerOnRedis } from '../support/redis/worker-on-redis.ts';
import { skipFor } from '../support/skip.ts';

vi.setConfig({ maxConcurrency: 10 });

/** Longer than the pauses after which a client, or the queue's own watchdog, may give a connection up. */
const OUTAGES = [
  { seconds: 3, level: FULL },
  { seconds: 10, level: 0 },
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
