import { HaloError } from '../core/failure/errors.ts';
import { reach } from '../lib/failpoint.ts';
import { openDispatch, type Dispatch } from './scheduler/scheduler-client.ts';
import { jobIdOf, type JobRef } from './job.ts';
import { openTested } from './redis-client.ts';
import type { RedisLink } from './redis/connect-redis.ts';
import { isFull, isRefusal } from './refusal.ts';
import { NO_LIMITS, type Limits, type Standing } from './turns.ts';

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

export interface QueueOptions {
  /** Whose the jobs of a run are, and how they rank. */
  standingOf: (runId: string) => Promise<Standing>;
  limits: () => Promise<Limits>;
  /** As for `consume`. */
  takeoverMs?: number | undefined;
}

const ROOM_MS = 1000;
/** A producer that waited longer would keep its user, or a worker's slot, waiting. */
const ANSWER_MS = 10_000;

/** A fleet without limits, and runs that are all alike. */
const ALIKE: QueueOptions = {
  standingOf: () => Promise.resolve({ lane: '', user: '', repo: '', agent: '', priority: 0 }),
  limits: () => Promise.resolve(NO_LIMITS),
};

/**
 * Opens the queue for producers: its functions fail with REDIS_UNAVAILABLE, at once while Redis is away, within seconds
 * while it does not answer.
 */
export async function openQueue(
  link: Pick<RedisLink, 'address' | 'prefix'>,
  { standingOf, limits, takeoverMs }: QueueOptions = ALIKE,
): Promise<StoryQueue> {
  const connection = await openTested(link.address, { commandTimeout: ANSWER_MS });
  // From here on a lost connection fails commands instead of keeping them.
  connection.options.enableOfflineQueue = false;
  const dispatch = openDispatch(connection, { prefix: link.prefix, limits, takeoverMs });
  const ask = <T>(work: () => Promise<T>) =>
    // A queue that is opened while Redis is away would wait for it.
    (connection.status === 'ready' ? work() : Promise.reject(new Error('not connected'))).catch((error: unknown) => {
      if (error instanceof HaloError) throw error;
      if (isFull(error)) throw full(link.address.name, error);
      if (isRefusal(error)) throw refused(link.address.name, error);
      throw new HaloError('REDIS_UNAVAILABLE', `The queue in Redis at ${link.address.name} does not answer.`, {
        hint: 'Check that Redis runs, then try again: nothing is lost.',
        cause: error,
      });
    });
  return {
    enqueue: async ({ delayMs = 0, ...job }) => {
      const standing = await standingOf(job.runId);
      await reach('enqueue.before');
      await ask(async () => {
        // A script that has written something is let through by a full server, so room is asked for first.
        await connection.set(`${link.prefix}:room`, '', 'PX', ROOM_MS);
        await dispatch.tell(() => ({ offer: [{ id: jobIdOf(job), ...job, ...standing, delayMs }] }));
      });
      await reach('enqueue.after');
    },
    counts: () => ask(() => countJobs(dispatch)),
    dropLane: (lane) =>
      ask(async () => {
        await dispatch.tell(() => ({ dropLane: lane }));
        await dispatch.queueOf(lane).obliterate({ force: true });
      }),
    async close() {
      await dispatch.close();
      connection.disconnect();
    },
  };
}

function full(name: string, cause: unknown): HaloError {
  return new HaloError('REDIS_UNAVAILABLE', `The memory of Redis at ${name} is full: it takes no more jobs.`, {
    hint: 'Raise its maxmemory, then try again: nothing is lost, and runs that are under way go on.',
    cause,
  });
}

function refused(name: string, cause: Error): HaloError {
  return new HaloError('REDIS_UNAVAILABLE', `Redis at ${name} takes no jobs: ${cause.message}.`, {
    hint: 'Mend what it complains of, then try again: nothing is lost.',
    cause,
  });
}

async function countJobs(dispatch: Dispatch): Promise<QueueCounts> {
  const counts = await dispatch.queueOf('').getJobCounts('waiting', 'active', 'delayed', 'failed');
  const count = (state: string) => counts[state] ?? 0;
  const idle = (await dispatch.list()).filter(({ entry, hasTurn }) => entry.lane === '' && !hasTurn);
  const delayed = idle.filter(({ entry }) => entry.readyAt > Date.now()).length;
  return {
    waiting: count('waiting') + idle.length - delayed,
    active: count('active'),
    delayed: count('delayed') + delayed,
    failed: count('failed'),
  };
}
