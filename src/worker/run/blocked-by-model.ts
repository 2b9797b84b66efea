import type { Config } from '../../config/config.ts';
import { postponeAttempt } from '../../core/failure/model-pause.ts';
import { isDue, isStillPlanned, type PlannedAttempt } from '../../core/run/plan.ts';
import type { RunState } from '../../core/run/state.ts';
import { findModelPause, longestPauseMs } from '../network/attempt-budget.ts';
import type { WorkerContext } from '../worker-context.ts';

/**
 * Whether the model of a run has a long pause, so that an attempt would only start to be stopped again. If so, records in
 * the journal until when. A pause that is too long for the attempt is left to the attempt, which reports it.
 */
export async function isBlockedByModel(
  worker: Pick<WorkerContext, 'budgetLedger' | 'now' | 'store' | 'log'>,
  { state, planned, config }: { state: RunState; planned: PlannedAttempt; config: Config },
): Promise<boolean> {
  const { story, attempt } = planned;
  const isRunning = story.progress === 'in_progress' && story.waiting === undefined;
  // An approved story needs no agent.
  if (isRunning || !isDue(planned, worker.now()) || story.approved !== undefined) return false;
  if (worker.budgetLedger === undefined || config.model.api === undefined || config.model.mode === 'replay')
    return false;
  const now = worker.now();
  const finding = findModelPause(worker.budgetLedger, { state, config, now });
  const found = await finding.catch((error: unknown) => {
    worker.log.warn({ runId: state.runId, err: error }, 'pause of the model could not be read');
    return undefined;
  });
  if (found === undefined || found.ms <= longestPauseMs(config)) return false;
  const ref = { story: story.id, attempt };
  const at = new Date(now).toISOString();
  return worker.store.transact<boolean>(state.runId, (current) => {
    // The run has changed since: the job is planned again.
    if (!isStillPlanned(current, planned)) return { entries: [], result: true };
    const wait = postponeAttempt(current, { ...ref, ...found }, { maxWaitMs: config.retry.maxWaitMs, now: at });
    return wait === undefined ? { entries: [], result: false } : { entries: [wait], result: true };
  });
}
