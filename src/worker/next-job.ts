import type { Config } from '../config/config.ts';
import { planNext } from '../core/plan.ts';
import type { RunState } from '../core/run-state.ts';
import type { Enqueue } from '../queue/queue.ts';

/** The jobs that take a run further, as its journal stands: one for each attempt that may be under way, or its end. */
export function nextJobs(state: RunState, { retry }: Pick<Config, 'retry'>): Enqueue[] {
  const { runId, stories } = state;
  const plan = planNext(state);
  if (plan.kind === 'end') return [{ runId, ordinal: stories.length, attempt: 1 }];
  return plan.attempts.map(({ story, attempt }) => ({
    runId,
    ordinal: stories.indexOf(story),
    attempt,
    delayMs: story.progress === 'failed' ? backoff(retry, attempt - 1) : 0,
  }));
}

/** Doubles with each failure, up to a cap. `failures` counts from 1. */
export function backoff({ backoffMs, maxBackoffMs }: Config['retry'], failures: number): number {
  return Math.min(maxBackoffMs, backoffMs * 2 ** (failures - 1));
}
