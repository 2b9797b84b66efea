import { z } from 'zod';
import { LOCAL_ENGINE } from '../core/engine/engine-address.ts';
import { RUN_ID } from '../lib/run-id.ts';

/**
 * The name of the queue that has the jobs of a lane, or those on an engine. The jobs of a queue are the next stories of runs.
 * A lane is reserved for one worker; '' is for jobs that all other workers may take.
 */
export function queueOf({ lane, engine = LOCAL_ENGINE }: { lane: string; engine?: string | undefined }): string {
  if (lane !== '') return `stories-${lane}`;
  return engine === LOCAL_ENGINE ? 'stories' : `stories-engine-${engine}`;
}

export const JOB_NAME = 'story';

/** A job holds only ids. The run's journal determines what to do. */
export const StoryJob = z.strictObject({
  runId: z.string().regex(RUN_ID),
  /** Index of the story in execution order; the number of stories means the end of the run. */
  ordinal: z.int().min(0),
});
export type StoryJob = z.infer<typeof StoryJob>;

export interface JobRef extends StoryJob {
  attempt: number;
}

/** The id of a story attempt's job. It is always the same, so that an attempt is never queued twice. */
export function jobIdOf({ runId, ordinal, attempt }: JobRef): string {
  return `s-${runId}-${ordinal}-a${attempt}`;
}

/** Parses an untrusted job from Redis. Returns the reason, as the end of a sentence, when it is invalid. */
export function parseJob(job: { id?: string | undefined; name: string; data: unknown }): JobRef | string {
  if (job.name !== JOB_NAME) return 'its name is not that of a halo job';
  const parsed = StoryJob.safeParse(job.data);
  if (!parsed.success) return 'its payload is not that of a halo job';
  const { runId, ordinal } = parsed.data;
  const start = `s-${runId}-${ordinal}-a`;
  const id = job.id ?? '';
  const attempt = id.slice(start.length);
  if (!id.startsWith(start) || !/^\d{1,9}$/.test(attempt)) return 'its id does not match its payload';
  return { ...parsed.data, attempt: Number(attempt) };
}
