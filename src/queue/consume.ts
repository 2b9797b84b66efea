import { hostname } from 'node:os';
import { randomBytes } from 'node:crypto';
import { UnrecoverableError, WaitingError, Worker, type Job } from 'bullmq';
import { safeLine } from '../core/safe-text.ts';
import { sleep } from '../lib/sleep.ts';
import { openDispatch } from './scheduler/scheduler-client.ts';
import { buryJob } from './dead-letters.ts';
import { holdLocks } from './renew-job-locks.ts';
import { queueName, readJob, type JobRef } from './job.ts';
import { openClient } from './redis-client.ts';
import type { RedisLink } from './redis/connect-redis.ts';
import { restWhenRefused } from './pause-on-oom.ts';
import { takeTurns } from './take-turns.ts';
import { NO_LIMITS, TAKEOVER_MS, type Limits } from './turns.ts';

export interface ConsumeOptions {
  /** How many jobs are handled at once. */
  concurrency: number;
  /** Takes the jobs of this lane alone. */
  lane?: string;
  /** Most jobs at once, of all workers; asked anew each time, so that a change counts at once. */
  limits?: () => Promise<Limits>;
  /** The machine, for the limit by host. */
  host?: string;
  /** How long a job whose worker is silent, and its turn, stay with it, in ms; default 30 s. The same for all workers. */
  takeoverMs?: number | undefined;
  /**
   * Resolves when nothing is left to do for the job, whatever the verdict; that also holds after an abort.
   * With `againMs` the same job comes again after that time, as often as it likes. `unknown` says why it is no job of
   * this home's: it goes to the dead letters.
   * Throws on infrastructure faults (the job is tried again later, unless this is its last try) and when the
   * signal cut it short.
   */
  handle: (
    job: JobRef,
    signal: AbortSignal,
    turn: Turn,
  ) => Promise<{ againMs: number } | { unknown: string } | undefined | void>;
  /** Told of faults nobody else sees: lost connections, bad jobs, what `handle` threw. */
  onError: (error: Error) => void;
}

export interface Turn {
  /** The job's own id, as of `jobIdOf`. */
  jobId: string;
  lastTry: boolean;
}

export interface Consumer {
  /** Resolves when jobs are being taken. */
  ready: Promise<void>;
  /** Takes no more jobs, aborts those under way, and hands back what is unfinished; never takes much longer than `graceMs`. */
  close(graceMs: number): Promise<void>;
}

/** Looked at this often in that time. */
const LOOKS = 3;

/** Takes story jobs when it is their turn and has them handled. A job whose worker dies is given to another one within 40 seconds. */
export function consume(link: Pick<RedisLink, 'address' | 'prefix'>, options: ConsumeOptions): Consumer {
  const { concurrency, lane = '', limits = () => Promise.resolve(NO_LIMITS), host = hostname() } = options;
  const { takeoverMs = TAKEOVER_MS } = options;
  // Of our own, because a job may be on its way from Redis when the worker is told to cancel all it has.
  const closing = new AbortController();
  const connection = openClient(link.address, { maxRetriesPerRequest: null });
  const dispatch = openDispatch(connection, { prefix: link.prefix, limits, takeoverMs });
  const me = { id: randomBytes(8).toString('hex'), lane, host, slots: concurrency };
  const turns = takeTurns(dispatch, { worker: me, onError: options.onError });
  /** Jobs that wait for another turn as soon as the queue has let go of them, in ms. */
  const comingAgain = new Map<string, number>();
  /** The lock of each job that is handled. */
  const tokens = new Map<string, string>();
  /** Ends a job that nobody will ever do; of its payload, which may be of any size, no more is kept than a beginning. */
  const bury = async (job: Job<unknown>, reason: string): Promise<never> => {
    const { id = '', name, data } = job;
    await buryJob(connection, link.prefix, { reason, queue: queueName(lane), id, name, data });
    job.opts.removeOnFail = true;
    throw new UnrecoverableError(`Job ${safeLine(id, 100)} is not one of halo's and was not done: ${reason}.`);
  };
  const handleJob = async (job: Job<unknown>, token: string | undefined, signal: AbortSignal | undefined) => {
    const ours = readJob(job);
    if (typeof ours === 'string') return bury(job, ours);
    const stop = AbortSignal.any(signal === undefined ? [closing.signal] : [signal, closing.signal]);
    const lastTry = job.attemptsMade + 1 >= (job.opts.attempts ?? 1);
    const id = job.id ?? '';
    tokens.set(id, token ?? '');
    try {
      stop.throwIfAborted();
      // It lost its turn while it waited here: whoever gives it the next one queues it anew.
      if (!(await turns.begin(id))) return;
      const then = await options.handle(ours, stop, { jobId: id, lastTry });
      if (typeof then === 'object' && 'againMs' in then) comingAgain.set(id, then.againMs);
      else await turns.finish(id);
      if (typeof then === 'object' && 'unknown' in then) await bury(job, then.unknown);
    } catch (error) {
      if (error instanceof UnrecoverableError) throw error;
      if (closing.signal.aborted) {
        turns.leave(id);
        // At once: a time would be compared with the clocks of other machines. This worker takes nothing any more.
        await job.moveToWait(token);
        throw new WaitingError();
      }
      // Without its lock the job is another worker's, and so is its turn.
      if (lastTry && signal?.aborted !== true) await turns.finish(id);
      else turns.leave(id);
      throw error;
    } finally {
      if (tokens.get(id) === token) tokens.delete(id);
    }
  };
  const worker = new Worker<unknown>(
    queueName(lane),
    // Three parameters, spelled out: the signal is only passed to a function that declares it.
    (job, token, signal) => handleJob(job, token, signal),
    {
      connection,
      prefix: link.prefix,
      skipVersionCheck: true,
      concurrency,
      lockDuration: takeoverMs,
      stalledInterval: Math.round(takeoverMs / LOOKS),
      maxStalledCount: 5,
    },
  );
  worker.on('error', options.onError);
  worker.on('completed', ({ id = '' }) => {
    const delayMs = comingAgain.get(id);
    comingAgain.delete(id);
    if (delayMs !== undefined) turns.later(id, delayMs).catch(options.onError);
  });
  worker.on('failed', (_job, error) => options.onError(error));
  holdLocks(worker, { client: connection, takeoverMs, tokens });
  const stopResting = restWhenRefused(worker);

  return {
    ready: worker.waitUntilReady().then(() => turns.start()),
    async close(graceMs) {
      stopResting();
      const deadline = new AbortController();
      const leave = async () => {
        await worker.pause(true);
        await turns.retire();
        closing.abort(new Error('the worker stops'));
        await worker.close();
        await turns.stop();
        deadline.abort();
      };
      await Promise.race([leave().catch(options.onError), sleep(graceMs, deadline.signal)]);
      if (!deadline.signal.aborted) await Promise.race([worker.close(true), sleep(1000)]);
      void turns.stop();
      await dispatch.close();
      connection.disconnect();
    },
  };
}
