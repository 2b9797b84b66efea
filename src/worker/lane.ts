import type { RunState } from '../core/run-state.ts';
import type { Standing } from '../queue/turns.ts';
import { countWorkers, isPresent } from '../store/presence.ts';
import type { Store } from '../store/store.ts';

/**
 * Whose jobs a run's jobs are: those of the `halo run` that it belongs to, for as long as that process lives;
 * else undefined, those of any worker.
 */
export async function laneOf(home: string, { owner }: Pick<RunState, 'owner'>): Promise<string | undefined> {
  return owner !== undefined && (await isPresent(home, owner)) ? owner : undefined;
}

/** How the jobs of a run rank among all others, by the id of the run. */
export function openStandings(home: string, store: Pick<Store, 'readState'>): (runId: string) => Promise<Standing> {
  return async (runId) => {
    const state = await store.readState(runId);
    const { user = '', agent = '', priority, repo } = state;
    return { lane: (await laneOf(home, state)) ?? '', user, agent, priority, repo: repo.mirror };
  };
}

/** How many workers live that would work on the run. */
export async function countWorkersFor(home: string, state: Pick<RunState, 'owner'>): Promise<number> {
  return (await laneOf(home, state)) === undefined ? countWorkers(home) : 1;
}
