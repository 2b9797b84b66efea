import type { JournalEntry } from '../../core/journal/events.ts';
import { needStatus, unmetNeeds, type Need } from '../../core/run/run-dependencies.ts';
import type { RunState } from '../../core/run/state.ts';
import type { WorkerContext } from '../worker-context.ts';
import { defined } from '../../lib/guards.ts';

type NeedChange = JournalEntry & { type: 'need.changed' };

type Settling = Pick<WorkerContext, 'store' | 'log'>;

/**
 * Records in a run's journal how the runs that it depends on have ended, and returns its new state. If a dependency has the
 * same repository, the run builds on its result.
 */
export async function updateDependencies(worker: Settling, state: RunState): Promise<RunState> {
  const found = await Promise.all(unmetNeeds(state).map((need) => findChangedDependency(worker, state, need)));
  const changes = found.flatMap((change) => change ?? []);
  if (changes.length === 0) return state;
  await worker.store.transact(state.runId, (current) => {
    // Another worker may have recorded it in the meantime.
    const entries = changes.filter((change) =>
      unmetNeeds(current).some((need) => need.run === change.run && !isSameStatus(need, change)),
    );
    return { entries, result: undefined };
  });
  return worker.store.readState(state.runId);
}

function isSameStatus(a: Omit<Need, 'run'>, b: Omit<Need, 'run'>): boolean {
  return a.now === b.now && a.stopReason === b.stopReason;
}

async function findChangedDependency(
  { store, log }: Settling,
  state: RunState,
  need: Need,
): Promise<NeedChange | undefined> {
  const needed = await store.readState(need.run).catch((error: unknown) => {
    log.warn({ runId: state.runId, needs: need.run, err: error }, 'dependency of a run cannot be read');
  });
  if (needed === undefined) return undefined;
  const now = needStatus(needed);
  const stopReason = now === 'failed' ? needed.stopReason : undefined;
  const status = { now, ...defined({ stopReason }) };
  if (isSameStatus(need, status)) return undefined;
  return {
    type: 'need.changed',
    run: need.run,
    ...status,
    ...(now === 'met' && needed.repo.mirror === state.repo.mirror ? { base: needed.tip } : {}),
  };
}
