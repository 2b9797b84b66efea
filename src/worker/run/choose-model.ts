import type { Config } from '../../config/config.ts';
import { postponeAttempt } from '../../core/failure/model-pause.ts';
import type { FallbackModel } from '../../core/failure/model-use.ts';
import { isAttemptDue, isStillPlanned, type PlannedAttempt } from '../../core/run/plan.ts';
import type { RunState } from '../../core/run/state.ts';
import { findOpenModel, withModel } from '../network/model-pauses.ts';
import type { WorkerContext } from '../worker-context.ts';

/** The configuration with which an attempt starts. */
interface ChosenModel {
  config: Config;
  fallback?: FallbackModel;
}

/**
 * Chooses the first model of a run that has no long pause. Undefined if all have one, so that an attempt would only start
 * to be stopped again; then the journal records until when the story waits. A pause that is too long for the attempt is
 * left to the attempt, which reports it.
 */
export async function chooseModel(
  worker: Pick<WorkerContext, 'budgetLedger' | 'now' | 'store' | 'log'>,
  { state, planned, config }: { state: RunState; planned: PlannedAttempt; config: Config },
): Promise<ChosenModel | undefined> {
  const { story, attempt } = planned;
  // An approved story needs no agent.
  if (!isAttemptDue(planned, worker.now()) || story.approved !== undefined) return { config };
  const { api, mode, name, fallback } = config.model;
  if (worker.budgetLedger === undefined || api === undefined || mode === 'replay') return { config };
  const finding = findOpenModel(worker.budgetLedger, [name, ...fallback], { state, config, now: worker.now });
  const found = await finding.catch((error: unknown) => {
    worker.log.warn({ runId: state.runId, err: error }, 'pause of the model could not be read');
    return undefined;
  });
  if (found === undefined) return { config };
  const { paused } = found;
  if ('model' in found) {
    if (paused === undefined) return { config };
    return { config: withModel(config, found.model), fallback: { model: found.model, why: paused.why } };
  }
  const isRunning = story.progress === 'in_progress' && story.waiting === undefined;
  if (isRunning) return { config };
  const ref = { story: story.id, attempt };
  const at = new Date(worker.now()).toISOString();
  const waits = await worker.store.transact<boolean>(state.runId, (current) => {
    // The run has changed since: the job is planned again.
    if (!isStillPlanned(current, planned)) return { entries: [], result: true };
    const wait = postponeAttempt(current, { ...ref, ...found.paused }, { maxWaitMs: config.retry.maxWaitMs, now: at });
    return wait === undefined ? { entries: [], result: false } : { entries: [wait], result: true };
  });
  return waits ? undefined : { config };
}
