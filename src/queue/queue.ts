import { Queue } from 'bullmq';
import { HaloError } from '../core/errors.ts';
import { jobIdOf, JOB_NAME, queueName, type JobRef, type StoryJob } from './job.ts';
import { openTested } from './redis-client.ts';
import type { RedisLink } from './redis.ts';

export interface Enqueue extends JobRef {
  /** Most a worker waits before it takes the job, in ms; none when absent. */
  delayMs?: number;
}

export interface QueueCounts {
  waiting: number;
  active: number;
  delayed: number;
  failed: number;
}

export interface StoryQueue {
  /** Safe to repeat: a story attempt waits or runs once; one whose job ended, however it ended, is queued anew. */
  enqueue(job: Enqueue): Promise<void>;
  /** Of the queue of all workers. */
  counts(): Promise<QueueCounts>;
  /** Removes the lane of a worker that is gone, with all that is in it. */
  dropLane(lane: string): Promise<void>;
  close(): Promise<void>;
}

const DAY_S = 86_400;
/** How often a job is tried again after an infrastructure fault, with growing pauses. */
const TRIES = 4;
const FIRST_PAUSE_MS = 2000;

/** Which worker has the jobs of a run for itself, if any. */
export type LaneOf = (runId: string) => Promise<string | undefined>;

/** Opens the queue for producers: while Redis is away its functions fail at once with REDIS_UNAVAILABLE. */
export async function openQueue(
  link: Pick<RedisLink, 'address' | 'prefix'>,
  laneOf: LaneOf = () => Promise.resolve(undefined),
): Promise<StoryQueue> {
  const connection = await openTested(link.address);
  // From here on a lost connection fails commands instead of keeping them.
  connection.options.enableOfflineQueue = false;
  const lanes = new Map<string | undefined, Queue<StoryJob>>();
  const queueOf = (lane: string | undefined) => {
    const open = lanes.get(lane);
    if (open !== undefined) return open;
    const queue = new Queue<StoryJob>(queueName(lane), { connection, prefix: link.prefix, skipVersionCheck: true });
    queue.on('error', () => undefined);
    lanes.set(lane, queue);
    return queue;
  };
  const ask = <T>(work: () => Promise<T>) =>
    // A queue that is opened while Redis is away would wait for it.
    (connection.status === 'ready' ? work() : Promise.reject(new Error('not connected'))).catch((error: unknown) => {
      throw new HaloError('REDIS_UNAVAILABLE', `The queue in Redis at ${link.address.name} does not answer.`, {
        hint: 'Check that Redis runs, then try again: nothing is lost.',
        cause: error,
      });
    });
  return {
    enqueue: async (job) => {
      const lane = await laneOf(job.runId);
      await ask(() => add(queueOf(lane), job));
    },
    counts: () => ask(() => countJobs(queueOf(undefined))),
    dropLane: (lane) => ask(() => queueOf(lane).obliterate({ force: true })),
    async close() {
      for (const queue of lanes.values()) await queue.close().catch(() => undefined);
      connection.disconnect();
    },
  };
}

async function add(queue: Queue<StoryJob>, job: Enqueue): Promise<void> {
  const jobId = jobIdOf(job);
  const old = await queue.getJob(jobId);
  // A job that ended would swallow a new one of the same id, and what is still to do only the journal knows.
  if (old !== undefined && ((await old.isFailed()) || (await old.isCompleted()))) await old.remove();
  await queue.add(
    JOB_NAME,
    { runId: job.runId, ordinal: job.ordinal },
    {
      jobId,
      delay: job.delayMs ?? 0,
      attempts: TRIES,
      backoff: { type: 'exponential', delay: FIRST_PAUSE_MS },
      removeOnComplete: { age: 7 * DAY_S, count: 5000 },
      removeOnFail: { age: 30 * DAY_S },
    },
  );
}

async function countJobs(queue: Queue<StoryJob>): Promise<QueueCounts> {
  const counts = await queue.getJobCounts('waiting', 'active', 'delayed', 'failed');
  const count = (state: string) => counts[state] ?? 0;
  return { waiting: count('waiting'), active: count('active'), delayed: count('delayed'), failed: count('failed') };
}
