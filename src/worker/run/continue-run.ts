import { isAttemptDue, planNext } from '../../core/run/plan.ts';
import type { RunState } from '../../core/run/state.ts';
import type { EnqueueRequest, StoryQueue } from '../../queue/queue.ts';
import type { RunKeeper } from '../worker-context.ts';
import { endRun, planEnd } from './end-run.ts';
import { readRun } from './read-run.ts';

/**
 * Continues a run after a command: queues the next jobs, or ends the run if nothing is left. Safe to repeat; it also
 * replaces a lost job. Returns what the run does now.
 */
export async function continueRun(
  keeper: RunKeeper,
  { runId, openQueue }: { runId: string; openQueue: () => Promise<Pick<StoryQueue, 'enqueue'>> },
): Promise<'queued' | 'idle' | 'ended'> {
  const state = await keeper.store.readState(runId);
  if (state.status === 'ended') return 'ended';
  if (planEnd(state) !== undefined) {
    await endRun(keeper, await readRun(keeper, runId), planEnd);
    return 'ended';
  }
  const jobs = nextJobs(state);
  if (jobs.length === 0) return 'idle';
  const queue = await openQueue();
  for (const job of jobs) await queue.enqueue(job);
  return 'queued';
}

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
