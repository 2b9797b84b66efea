import type { StoryQueue } from '../../queue/queue.ts';
import { endRun, planEnd } from './end-run.ts';
import { nextJobs } from './next-jobs.ts';
import { readRun } from './read-run.ts';
import type { RunKeeper } from '../worker-context.ts';

/**
 * After a person's word: queues what comes next, or ends the run when nothing does. Repeating it is harmless: it mends a
 * lost job, too. Answers with what the run does now.
 */
export async function goOn(
  keeper: RunKeeper,
  { runId, openQueue }: { runId: string; openQueue: () => Promise<Pick<StoryQueue, 'enqueue'>> },
): Promise<'queued' | 'rests' | 'ended'> {
  const state = await keeper.store.readState(runId);
  if (state.status === 'ended') return 'ended';
  if (planEnd(state) !== undefined) {
    await endRun(keeper, await readRun(keeper, runId), planEnd);
    return 'ended';
  }
  const jobs = nextJobs(state);
  if (jobs.length === 0) return 'rests';
  const queue = await openQueue();
  for (const job of jobs) await queue.enqueue(job);
  return 'queued';
}
