import { isAttemptDue, planNext } from '../../core/run/plan.ts';
import type { RunState, StoryState } from '../../core/run/state.ts';
import { defined } from '../../lib/guards.ts';
import type { EnqueueRequest } from '../../queue/queue.ts';

/**
 * The next jobs of a run, from its state: one for each attempt that may run, or one that ends the run. None while it is
 * paused. `now` is in ms since 1970; `last`: a story that an engine has just tried, even if it did not start there.
 */
export function nextJobs(
  state: RunState,
  now = Date.now(),
  last?: { story: string; engine: string },
): EnqueueRequest[] {
  const { runId, stories } = state;
  const plan = planNext(state);
  if (plan.kind === 'end') return [{ runId, ordinal: stories.length, attempt: 1 }];
  if (state.paused !== undefined) return [];
  return plan.attempts.map((planned) => {
    const { story, attempt, notBefore = '' } = planned;
    const delayMs = isAttemptDue(planned, now) ? 0 : Date.parse(notBefore) - now;
    const engine = story.id === last?.story ? last.engine : story.engine?.name;
    const avoid = isOfEngine(story) ? engine : undefined;
    return { runId, ordinal: stories.indexOf(story), attempt, delayMs, ...defined({ avoid }) };
  });
}

/** Whether the last attempt failed for a reason that another engine may not have, such as a full disk. */
function isOfEngine({ waiting, lastFailure }: StoryState): boolean {
  return waiting !== undefined && (waiting.class === 'infrastructure' || lastFailure?.cause === 'disk-floor');
}
