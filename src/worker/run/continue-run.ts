import type { StoryQueue } from '../../queue/queue.ts';
import type { RunKeeper } from '../worker-context.ts';
import { endRun, planEnd } from './end-run.ts';
import { nextJobs } from './next-jobs.ts';
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
