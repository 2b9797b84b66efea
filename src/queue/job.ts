import { z } from 'zod';
import { RUN_ID } from '../lib/id.ts';

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
