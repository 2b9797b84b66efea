import { expect } from 'vitest';
import { releaseUntil } from '../halo/hold.ts';
import type { HaloProcess } from '../halo/halo-process.ts';
import type { TestRepository } from '../repository/repository.ts';
import { checkInvariants } from './check-invariants.ts';
import { killWorker, stopWorker, untilTidy, type World } from './world.ts';

/** Kills a worker and starts another one, which takes over its runs soon. */
export async function replaceWorker(world: World, worker: HaloProcess): Promise<HaloProcess> {
  await killWorker(worker);
  await world.expireLocks();
  return world.startWorker();
}

/** Releases what the story `A` of a run holds, until the run has ended: `A` must have landed once, and nothing be left. */
export async function landHeldStory(
  world: World,
  worker: HaloProcess,
  { runId, repository }: { runId: string; repository: TestRepository },
): Promise<void> {
  await releaseUntil(
    () => [runId],
    () => expect(world.journal(runId).filter(({ type }) => type === 'run.ended')).toHaveLength(1),
  );
  await untilTidy(world);
  await stopWorker(worker);
  await checkInvariants(world, [{ runId, repository, main: 'unchanged', landed: ['A'] }]);
}
