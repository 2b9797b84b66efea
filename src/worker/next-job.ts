import type { Config } from '../config/config.ts';
import { planNext } from '../core/plan.ts';
import type { RunState } from '../core/run-state.ts';
import type { Enqueue } from '../queue/queue.ts';

/** The job that takes a run further, as its journal stands: the next attempt, or writing its end. */
export function nextJob(state: RunState, { retry }: Pick<Config, 'retry'>): Enqueue {
  const plan = planNext(state);
  if (plan.kind === 'end') return { runId: state.runId, ordinal: state.stories.length, attempt: 1 };
  return {
    runId: state.runId,
    ordinal: state.stories.indexOf(plan.story),
    attempt: plan.attempt,
    delayMs: plan.story.progress === 'failed' ? backoff(retry, plan.attempt - 1) : 0,
  };
}

/** Doubles with each failure, up to a cap. `failures` counts from 1. */
export function backoff({ backoffMs, maxBackoffMs }: Config['retry'], failures: number): number {
  return Math.min(maxBackoffMs, backoffMs * 2 ** (failures - 1));
}
