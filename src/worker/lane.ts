import type { RunState } from '../core/run-state.ts';
import { countWorkers, isPresent } from '../store/presence.ts';
import type { Store } from '../store/store.ts';

/**
 * Whose jobs a run's jobs are: those of the `halo run` that it belongs to, for as long as that process lives;
 * else undefined, those of any worker.
 */
export async function laneOf(home: string, { owner }: Pick<RunState, 'owner'>): Promise<string | undefined> {
  return owner !== undefined && (await isPresent(home, owner)) ? owner : undefined;
}

/** The same by the id of a run, for the queue. */
export function openLanes(
  home: string,
  store: Pick<Store, 'readState'>,
): (runId: string) => Promise<string | undefined> {
  return async (runId) => laneOf(home, await store.readState(runId));
}

/** How many workers live that would work on the run. */
export async function countWorkersFor(home: string, state: Pick<RunState, 'owner'>): Promise<number> {
  return (await laneOf(home, state)) === undefined ? countWorkers(home) : 1;
}
