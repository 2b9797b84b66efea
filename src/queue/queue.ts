import { isDue } from '../core/due.ts';
import { failpoint } from '../lib/failpoint.ts';
import { openSchedulerClient, type SchedulerClient } from './scheduler/scheduler-client.ts';
import { jobIdOf, type JobRef } from './job.ts';
import { connectRedisClient, toRedisError } from './redis/redis-client.ts';
import type { RedisLink } from './redis/connect-redis.ts';
import { LOCAL_ENGINE } from '../core/engine/engine-address.ts';
import { NO_LIMITS, type FleetLimits } from '../core/run/fleet-limit.ts';
import type { JobEntry, JobRank, RankedJob, TakingWorker, WorkerSlots } from './scheduler/scheduler.ts';
import { readDayUse } from './budget/budget-ledger.ts';
import type { Charge } from '../core/budget.ts';
import { defined } from '../lib/guards.ts';

export interface EnqueueRequest extends JobRef {
  /** Delay in ms before a worker takes the job; none when absent. */
  delayMs?: number;
  /** The engine on which it failed, and gets a slot only if no other one has room. */
  avoid?: string;
}

export interface QueueCounts {
  waiting: number;
  active: number;
  delayed: number;
  failed: number;
}

/** What all workers of a HALO_HOME use. */
export interface FleetUse {
  /** Of each engine with workers or stories, and of that of the environment. */
  slots: WorkerSlots[];
  /** What the model requests of this day (UTC) have spent and reserved; absent before the first one. */
  today?: Charge;
}

export interface StoryQueue {
  /** Safe to repeat: an attempt that waits or runs is not queued twice, one whose job has ended is queued again. */
  enqueue(job: EnqueueRequest): Promise<void>;
  /** The ids of all jobs that wait or run. */
  jobIds(): Promise<Set<string>>;
  /** Takes or renews a lease for `ms` and returns whether `holder` has it now. */
  lease(name: string, holder: string, ms: number): Promise<boolean>;
  /** Gives a lease up, so that others need not wait for its end. */
  releaseLease(name: string, holder: string): Promise<void>;
  /** The workers that take jobs, of the shared queue and of lanes. */
  workers(): Promise<TakingWorker[]>;
  /** Lets a worker finish its jobs and take no others, or take jobs again. Returns whether the worker is registered. */
  drain(workerId: string, draining: boolean): Promise<boolean>;
  /** The counts of all engines; jobs of lanes do not count. */
  counts(): Promise<QueueCounts>;
  /** What the workers and the budget of the day have left. */
  fleetUse(): Promise<FleetUse>;
  /** Removes the lane of a dead worker with all its jobs. */
  dropLane(lane: string): Promise<void>;
  close(): Promise<void>;
}

export interface QueueOptions {
  /** The lane of a run's jobs, and what determines their order. */
  rankOf: (runId: string, job: RankedJob) => Promise<JobRank>;
  limits: () => Promise<FleetLimits>;
  /** See `ConsumerOptions`. */
  takeoverMs?: number | undefined;
}

const ROOM_MS = 1000;
/** Limits how long a user, or a worker's slot, waits for Redis. */
const COMMAND_TIMEOUT_MS = 10_000;

/** Scripts, which Redis executes atomically: a lease that expires during a command keeps one holder. */
const LEASE_SCRIPT = `
local holder = redis.call('GET', KEYS[1])
if holder and holder ~= ARGV[1] then return 0 end
redis.call('SET', KEYS[1], ARGV[1], 'PX', ARGV[2])
return 1`;
const RELEASE_SCRIPT = `if redis.call('GET', KEYS[1]) == ARGV[1] then redis.call('DEL', KEYS[1]) end`;

/** No limits, and equal rank for all runs. */
const DEFAULT_OPTIONS: QueueOptions = {
  rankOf: () =>
    Promise.resolve({ lane: '', engines: [LOCAL_ENGINE], user: '', repo: '', agent: '', priority: 0, started: false }),
  limits: () => Promise.resolve(NO_LIMITS),
};

/**
 * Opens the queue for producers. Its functions throw REDIS_UNAVAILABLE: immediately while Redis is disconnected, within
 * seconds while it does not answer.
 */
export async function openQueue(
  link: Pick<RedisLink, 'address' | 'prefix'>,
  { rankOf, limits, takeoverMs }: QueueOptions = DEFAULT_OPTIONS,
): Promise<StoryQueue> {
  const connection = await connectRedisClient(link.address, { commandTimeout: COMMAND_TIMEOUT_MS });
  // From now on commands fail while the connection is lost, instead of being queued.
  connection.options.enableOfflineQueue = false;
  const scheduler = openSchedulerClient(connection, { prefix: link.prefix, limits, takeoverMs });
  const run = <T>(work: () => Promise<T>) =>
    // A bullmq queue that is opened while Redis is disconnected would wait for it.
    (connection.status === 'ready' ? work() : Promise.reject(new Error('not connected'))).catch((error: unknown) => {
      throw toRedisError(link.address.name, error);
    });
  return {
    enqueue: async ({ delayMs = 0, ...job }) => {
      const rank = await rankOf(job.runId, job);
      await failpoint('enqueue.before');
      await run(async () => {
        // A server without free memory does not stop a script that has begun to write, so test for free memory first.
        await connection.set(`${link.prefix}:room`, '', 'PX', ROOM_MS);
        await scheduler.update(() => ({ offer: [{ id: jobIdOf(job), ...job, ...rank, delayMs }] }));
      });
      await failpoint('enqueue.after');
    },
    jobIds: () => run(async () => new Set(await scheduler.ids())),
    lease: (name, holder, ms) =>
      run(async () => {
        return (await connection.eval(LEASE_SCRIPT, 1, `${link.prefix}:lease:${name}`, holder, ms)) === 1;
      }),
    releaseLease: (name, holder) =>
      run(async () => {
        await connection.eval(RELEASE_SCRIPT, 1, `${link.prefix}:lease:${name}`, holder);
      }),
    workers: () => run(() => scheduler.workers()),
    drain: (id, draining) =>
      run(async () => (await scheduler.update(() => ({ drain: { id, draining } }))).draining === draining),
    counts: () => run(() => countJobs(scheduler)),
    fleetUse: () =>
      run(async () => {
        const [slots, today] = await Promise.all([scheduler.slots(), readDayUse(connection, link.prefix)]);
        return { slots, ...defined({ today }) };
      }),
    dropLane: (lane) =>
      run(async () => {
        await scheduler.update(() => ({ dropLane: lane }));
        await (await scheduler.open({ lane })).obliterate({ force: true });
      }),
    async close() {
      await scheduler.close();
      connection.disconnect();
    },
  };
}

async function countJobs(scheduler: SchedulerClient): Promise<QueueCounts> {
  const [listed, workers] = await Promise.all([scheduler.list(), scheduler.workers()]);
  const jobs = listed.filter(({ entry }) => entry.lane === '');
  const engines = new Set([
    LOCAL_ENGINE,
    ...workers.map(({ engine }) => engine),
    ...jobs.flatMap(({ entry }) => entry.engine ?? []),
  ]);
  const queues = await Promise.all([...engines].map((engine) => scheduler.open({ lane: '', engine })));
  const counts = await Promise.all(queues.map((queue) => queue.getJobCounts('waiting', 'active', 'delayed', 'failed')));
  const count = (state: string) => counts.reduce((sum, each) => sum + (each[state] ?? 0), 0);
  const idle = jobs.filter(({ hasSlot }) => !hasSlot);
  const now = Date.now();
  const isDelayed = ({ readyAt, delayMs: longestMs = Infinity }: JobEntry) => !isDue(readyAt, { now, longestMs });
  const delayed = idle.filter(({ entry }) => isDelayed(entry)).length;
  return {
    waiting: count('waiting') + idle.length - delayed,
    active: count('active'),
    delayed: count('delayed') + delayed,
    failed: count('failed'),
  };
}
