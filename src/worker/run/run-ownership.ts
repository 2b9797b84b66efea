import type { RunState } from '../../core/run/state.ts';
import { enginesFor } from '../../core/engine/placement.ts';
import type { JobRank, RankedJob } from '../../queue/scheduler/scheduler.ts';
import { countWorkers, isWorkerAlive } from '../../store/process-registry.ts';
import type { JournalStore } from '../../store/journal-store.ts';
import type { WorkerContext } from '../worker-context.ts';
import { agentOfJob } from './job-agent.ts';

/** The `halo run` process that owns a run, while that process is alive. Undefined: any worker may take the run's jobs. */
export async function liveOwnerOf(home: string, { owner }: Pick<RunState, 'owner'>): Promise<string | undefined> {
  return owner !== undefined && (await isWorkerAlive(home, owner)) ? owner : undefined;
}

/** Returns a function that computes the scheduling rank of a job of a run; without one, that of its jobs in general. */
export function openJobRanks(
  home: string,
  store: Pick<JournalStore, 'readState' | 'readRecord' | 'readWithoutActivities'>,
): (runId: string, job?: RankedJob) => Promise<JobRank> {
  return async (runId, job) => {
    const state = await store.readState(runId);
    // Commands that only read load no schemas.
    const { readEngines } = await import('../../config/host-rules.ts');
    const { user = '', priority, repo } = state;
    const started = state.stories.some(({ attempts }) => attempts > 0);
    return {
      lane: (await liveOwnerOf(home, state)) ?? '',
      engines: enginesFor(state, await readEngines(home)),
      user,
      agent: job === undefined ? (state.agent ?? '') : await agentOfJob(store, state, job),
      priority,
      started,
      repo: repo.mirror,
    };
  };
}

/** Whether an engine other than that of the worker may run the stories of a run: what is missing here may be there. */
export async function hasOtherEngine(
  { home, store, engineName }: Pick<WorkerContext, 'home' | 'store' | 'engineName'>,
  runId: string,
): Promise<boolean> {
  const { lane, engines } = await openJobRanks(home, store)(runId);
  return lane === '' && engines.some((name) => name !== engineName);
}

/** How many running workers would take the run's jobs. */
export async function countWorkersFor(home: string, state: Pick<RunState, 'owner'>): Promise<number> {
  return (await liveOwnerOf(home, state)) === undefined ? countWorkers(home) : 1;
}
