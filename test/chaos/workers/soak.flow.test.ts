import { Redis } from 'ioredis';
import { describe, expect, it } from 'vitest';
import { checkInvariants, type Promised } from '../../support/faults/check-invariants.ts';
import { findLeftovers } from '../../support/faults/find-leftovers.ts';
import { ALL, belowLevel } from '../../support/suite/level.ts';
import { memoryOf, openFilesOf } from '../../support/faults/memory-of.ts';
import { openWorld, stopWorker, tidyUp, type World } from '../../support/faults/world.ts';
import { skipFor } from '../../support/skip.ts';

const ROUNDS = Number(process.env.HALO_CHAOS_ROUNDS ?? 5);
const REPOSITORIES = Number(process.env.HALO_CHAOS_REPOS ?? 20);
const STORIES = ['A', 'B', 'C', 'D', 'E'].map((id) => ({ id }));

describe('hazard 32: many runs over many repositories, repeatedly', skipFor(belowLevel(ALL)), () => {
  it('one worker: memory, open files, Redis keys and containers do not grow', { timeout: 7_200_000 }, async () => {
    const world = openWorld();
    try {
      const repositories = Array.from({ length: REPOSITORIES }, () => world.addRepository());
      const worker = world.startWorker({}, { concurrency: 4 });
      const runs: Promised[] = [];
      const rounds: Use[] = [];
      for (let round = 0; round < ROUNDS; round += 1) {
        for (const repository of repositories) {
          const runId = await world.submit(repository, STORIES);
          runs.push({ runId, repository, main: 'unchanged', landed: STORIES.map(({ id }) => id) });
        }
        for (const { runId } of runs.slice(-REPOSITORIES)) await world.untilEnded(runId, 3_600_000);
        rounds.push(await useOf(world, worker.process.pid!));
      }
      process.stdout.write(`${rounds.map((use) => JSON.stringify(use)).join('\n')}\n`);
      await stopWorker(worker);
      await tidyUp(world);
      await checkInvariants(world, runs);
      expect(await findLeftovers(world.home.dir)).toEqual([]);
      const [, second, ...later] = rounds;
      const last = later.at(-1)!;
      // The first round fills caches.
      expect(last.memory / second!.memory, 'memory').toBeLessThan(1.5);
      expect(last.files / second!.files, 'open files').toBeLessThan(1.2);
      // What is done is kept for a week, as often as there was something.
      expect(
        (last.keys - second!.keys) / (later.length * REPOSITORIES * STORIES.length),
        'keys of a story',
      ).toBeLessThan(1.5);
    } finally {
      await world.close();
    }
  });
});

interface Use {
  /** MiB */
  memory: number;
  files: number;
  keys: number;
}

async function useOf({ redisSocket }: World, pid: number): Promise<Use> {
  const redis = new Redis({ path: redisSocket });
  try {
    return { memory: memoryOf(pid), files: openFilesOf(pid), keys: await redis.dbsize() };
  } finally {
    redis.disconnect();
  }
}
