import { describe, expect, it, vi } from 'vitest';
import { sleep } from '../../src/lib/async.ts';
import { openQueue } from '../../src/queue/queue.ts';
import { belowLevel, FULL } from '../support/suite/level.ts';
import { openWorkerOnRedis, type WorkerOnRedis } from '../support/redis/worker-on-redis.ts';
import { skipFor } from '../support/skip.ts';
import { PATIENCE } from '../support/patience.ts';

vi.setConfig({ maxConcurrency: 10 });

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
