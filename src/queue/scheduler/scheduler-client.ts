import { Queue } from 'bullmq';
import type { Redis } from 'ioredis';
import { JOB_NAME, queueName, type StoryJob } from '../job.ts';
import {
  openScheduler,
  type SchedulerReply,
  type JobEntry,
  type SchedulerUpdate,
  type Scheduler,
  type SchedulerOptions,
} from './scheduler.ts';

/** The scheduler together with the bullmq queues that hold the jobs with a slot. */
export interface SchedulerClient {
  /** Reports what happened to the scheduler, and queues the jobs that received a slot. */
  update(update: () => SchedulerUpdate): Promise<SchedulerReply>;
  list: Scheduler['list'];
  /** The queue of a lane; '' is the shared queue. */
  queueOf(lane: string): Queue<StoryJob>;
  close(): Promise<void>;
}

const DAY_S = 86_400;
/** Tries of a job after infrastructure faults, with growing delays. */
const MAX_TRIES = 4;
const FIRST_DELAY_MS = 2000;

/** Jobs wait outside the bullmq queue: it holds only jobs that a worker can take immediately, so that no job blocks another. */
export function openSchedulerClient(connection: Redis, options: SchedulerOptions): SchedulerClient {
  const { prefix } = options;
  const scheduler = openScheduler(connection, options);
  const lanes = new Map<string, Queue<StoryJob>>();
  const queueOf = (lane: string) => {
    const open = lanes.get(lane);
    if (open !== undefined) return open;
    const queue = new Queue<StoryJob>(queueName(lane), { connection, prefix, skipVersionCheck: true });
    queue.on('error', () => undefined);
    lanes.set(lane, queue);
    // A queue that was opened while Redis did not answer stays unusable.
    queue.waitUntilReady().catch(() => lanes.delete(lane));
    return queue;
  };
  return {
    queueOf,
    list: () => scheduler.list(),
    async update(update) {
      const reply = await scheduler.update(update);
      for (const { id, entry } of reply.granted) await add(queueOf(entry.lane), id, entry);
      return reply;
    },
    async close() {
      for (const queue of lanes.values()) await queue.close().catch(() => undefined);
    },
  };
}

async function add(queue: Queue<StoryJob>, jobId: string, { runId, ordinal }: JobEntry): Promise<void> {
  const old = await queue.getJob(jobId);
  // An ended job would block a new one with the same id. Only the journal knows whether work is left.
  if (old !== undefined && ((await old.isFailed()) || (await old.isCompleted()))) await old.remove();
  await queue.add(
    JOB_NAME,
    { runId, ordinal },
    {
      jobId,
      attempts: MAX_TRIES,
      backoff: { type: 'exponential', delay: FIRST_DELAY_MS },
      removeOnComplete: { age: 7 * DAY_S, count: 5000 },
      removeOnFail: { age: 30 * DAY_S },
    },
  );
}
