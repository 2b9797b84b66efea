import type { JournalEntry } from '../../core/journal/events.ts';
import { needStatus, unmetNeeds, type Need } from '../../core/run/run-dependencies.ts';
import type { RunState } from '../../core/run-state.ts';
import type { WorkerContext } from '../worker-context.ts';

type Settling = Pick<WorkerContext, 'store' | 'log'>;

/**
 * Writes down in a run's journal what became of the runs that it waits for, and answers with its state after that.
 * A run of the same repository is what it builds on.
 */
export async function settleNeeds(worker: Settling, state: RunState): Promise<RunState> {
  const entries = await Promise.all(unmetNeeds(state).map((need) => look(worker, state, need)));
  const changes = entries.flatMap((entry) => entry ?? []);
  if (changes.length === 0) return state;
  await worker.store.append(state.runId, changes);
  return worker.store.readState(state.runId);
}

async function look({ store, log }: Settling, state: RunState, need: Need): Promise<JournalEntry | undefined> {
  const needed = await store.readState(need.run).catch((error: unknown) => {
    log.warn({ runId: state.runId, needs: need.run, err: error }, 'a run that another one waits for cannot be read');
  });
  if (needed === undefined) return undefined;
  const now = needStatus(needed);
  const stopReason = now === 'failed' ? needed.stopReason : undefined;
  if (now === need.now && stopReason === need.stopReason) return undefined;
  return {
    type: 'need.changed',
    run: need.run,
    now,
    ...(stopReason === undefined ? {} : { stopReason }),
    ...(now === 'met' && needed.repo.mirror === state.repo.mirror ? { base: needed.tip } : {}),
  };
}
