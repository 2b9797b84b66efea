import { planNext } from '../../core/run/plan.ts';
import type { RunState } from '../../core/run-state.ts';
import type { Enqueue } from '../../queue/queue.ts';

/**
 * The jobs that take a run further, as its journal stands: one for each attempt that may be under way, or its end.
 * None while a person lets it rest. `now` is in ms since 1970.
 */
export function nextJobs(state: RunState, now = Date.now()): Enqueue[] {
  const { runId, stories } = state;
  const plan = planNext(state);
  if (plan.kind === 'end') return [{ runId, ordinal: stories.length, attempt: 1 }];
  if (state.paused !== undefined) return [];
  return plan.attempts.map(({ story, attempt, notBefore }) => ({
    runId,
    ordinal: stories.indexOf(story),
    attempt,
    delayMs: notBefore === undefined ? 0 : Math.max(0, Date.parse(notBefore) - now),
  }));
}
