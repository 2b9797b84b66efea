import { isAttemptDue, planNext } from '../../core/run/plan.ts';
import type { RunState } from '../../core/run/state.ts';
import type { EnqueueRequest } from '../../queue/queue.ts';

/**
 * The next jobs of a run, from its state: one for each attempt that may run, or one that ends the run. None while it is
 * paused. `now` is in ms since 1970.
 */
export function nextJobs(state: RunState, now = Date.now()): EnqueueRequest[] {
  const { runId, stories } = state;
  const plan = planNext(state);
  if (plan.kind === 'end') return [{ runId, ordinal: stories.length, attempt: 1 }];
  if (state.paused !== undefined) return [];
  return plan.attempts.map((planned) => {
    const { story, attempt, notBefore = '' } = planned;
    const delayMs = isAttemptDue(planned, now) ? 0 : Date.parse(notBefore) - now;
    return { runId, ordinal: stories.indexOf(story), attempt, delayMs };
  });
}
