import { z } from 'zod';
import { RUN_ID } from '../lib/run-id.ts';

/**
 * The name of a queue: each job in it stands for the next story of a run. A lane is a queue that one worker has for
 * itself; '' is the queue of all others.
 */
export function queueName(lane = ''): string {
  return lane === '' ? 'stories' : `stories-${lane}`;
}

export const JOB_NAME = 'story';

/** A job holds ids only; what to do is in the run's journal. */
export const StoryJob = z.strictObject({
  runId: z.string().regex(RUN_ID),
  /** Which story of the run, counted from 0 in the order in which they run; their number stands for the run's end. */
  ordinal: z.int().min(0),
});
export type StoryJob = z.infer<typeof StoryJob>;

export interface JobRef extends StoryJob {
  attempt: number;
}

/** The same story attempt always has the same id, so that it is never queued twice. */
export function jobIdOf({ runId, ordinal, attempt }: JobRef): string {
  return `s-${runId}-${ordinal}-a${attempt}`;
}

/** What a job from Redis says, or why it is none of halo's: anybody who can reach Redis may have written it. */
export function readJob(job: { id?: string | undefined; name: string; data: unknown }): JobRef | string {
  if (job.name !== JOB_NAME) return 'it has another name than jobs of halo';
  const parsed = StoryJob.safeParse(job.data);
  if (!parsed.success) return 'its payload is not that of a job of halo';
  const { runId, ordinal } = parsed.data;
  const start = `s-${runId}-${ordinal}-a`;
  const id = job.id ?? '';
  const attempt = id.slice(start.length);
  if (!id.startsWith(start) || !/^\d{1,9}$/.test(attempt)) return 'its id belongs to another payload';
  return { ...parsed.data, attempt: Number(attempt) };
}
