import type { RunState } from '../../core/run/state.ts';
import type { JobRank } from '../../queue/scheduler/scheduler.ts';
import { countWorkers, isWorkerAlive } from '../../store/process-registry.ts';
import type { JournalStore } from '../../store/journal-store.ts';

/** The `halo run` process that owns a run, while that process is alive. Undefined: any worker may take the run's jobs. */
export async function liveOwnerOf(home: string, { owner }: Pick<RunState, 'owner'>): Promise<string | undefined> {
  return owner !== undefined && (await isWorkerAlive(home, owner)) ? owner : undefined;
}

/** Returns a function that computes the scheduling rank of a run's jobs. */
export function openJobRanks(
  home: string,
  store: Pick<JournalStore, 'readState'>,
): (runId: string) => Promise<JobRank> {
  return async (runId) => {
    const state = await store.readState(runId);
    const { user = '', agent = '', priority, repo } = state;
    const started = state.stories.some(({ attempts }) => attempts > 0);
    return { lane: (await liveOwnerOf(home, state)) ?? '', user, agent, priority, started, repo: repo.mirror };
  };
}

/** How many running workers would take the run's jobs. */
export async function countWorkersFor(home: string, state: Pick<RunState, 'owner'>): Promise<number> {
  return (await liveOwnerOf(home, state)) === undefined ? countWorkers(home) : 1;
}
