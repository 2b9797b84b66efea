import { randomBytes } from 'node:crypto';
import { hostname } from 'node:os';
import { UnrecoverableError, WaitingError, Worker, type Job } from 'bullmq';
import type { Redis } from 'ioredis';
import { LOCAL_ENGINE } from '../core/engine/engine-address.ts';
import { NO_LIMITS, type FleetLimits } from '../core/run/fleet-limit.ts';
import { safeLine } from '../core/text/safe-text.ts';
import { sleep } from '../lib/async.ts';
import { defined } from '../lib/guards.ts';
import { haloVersion } from '../lib/version.ts';
import { addDeadLetter } from './dead-letters.ts';
import { parseJob, queueOf, type JobRef } from './job.ts';
import type { RedisLink } from './redis/connect-redis.ts';
import { isReplyError, openRedisClient, toRedisError } from './redis/redis-client.ts';
import { openSchedulerClient, SlotClient, TICK_MS, type SchedulerClient } from './scheduler/scheduler-client.ts';
import { TAKEOVER_MS } from './scheduler/scheduler.ts';

export interface ConsumerOptions {
  /** The id of the worker in the queue; default: a new one. */
  id?: string;
  /** The number of jobs handled in parallel. */
  concurrency: number;
  /** It begins drained: it takes no jobs until it is resumed. */
  draining?: boolean;
  /** Takes only the jobs of this lane. */
  lane?: string;
  /** Without a lane: takes only the jobs of this engine; default: LOCAL_ENGINE. */
  engine?: string;
  /** The limits on parallel jobs of all workers. Called before each decision, so that changes apply immediately. */
  limits?: () => Promise<FleetLimits>;
  /** For the limit per host; default: the name of the machine, or of the engine if that is on another one. */
  host?: string;
  /** How long a silent worker keeps its jobs and their slots, in ms; default 30 s. Must be the same for all workers. */
  takeoverMs?: number | undefined;
  /** The maximum time between two renewals of its slots, which also ask for jobs, in ms; default 1 s. */
  tickMs?: number;
  /**
   * Resolves when the job is finished, whatever its verdict, also after an abort. Throws on infrastructure faults (the
   * job is retried later, unless `lastTry`) and when the signal aborted it.
   */
  handle: (job: JobRef, signal: AbortSignal, context: JobContext) => Promise<JobResult>;
  /** Called for faults without another observer: lost connections, invalid jobs, errors thrown by `handle`. */
  onError: (error: Error) => void;
}

/** `again`: the same job is queued again after that time, rather on another engine than `avoid`. `rejected`: it is not a job of this home: a dead letter. */
type JobResult =
  | { kind: 'done' }
  | { kind: 'again'; afterMs: number; avoid?: string }
  | { kind: 'rejected'; reason: string };

interface JobContext {
  /** The id built by `jobIdOf`. */
  jobId: string;
  lastTry: boolean;
  /** How long the job was ready before it started; absent if it has started before. */
  queuedMs?: number;
}

/** How often stalled jobs are checked per takeover time. */
const STALL_CHECKS = 3;

/** Takes story jobs that have a slot and handles them. The job of a dead worker moves to another one within 40 seconds. */
export class JobConsumer {
  private readonly handler: ConsumerOptions['handle'];
  private readonly onError: (error: Error) => void;
  private readonly prefix: string;
  private readonly queue: string;
  private readonly connection: Redis;
  private readonly scheduler: SchedulerClient;
  private readonly slots: SlotClient;
  private readonly worker: Worker<unknown>;
  private readonly pauses: PauseSwitch;
  private readonly beginsDrained: boolean;
  /** A separate signal, because bullmq does not cancel a job that is still on its way from Redis. */
  private readonly closing = new AbortController();
  /** How to queue jobs again as soon as bullmq has completed them. */
  private readonly requeues = new Map<string, { afterMs: number; avoid?: string }>();
  /** The lock token of each running job. */
  private readonly lockTokens = new Map<string, string>();

  /** Opens the connections. */
  constructor(link: Pick<RedisLink, 'address' | 'prefix'>, options: ConsumerOptions) {
    const { id = randomBytes(8).toString('hex'), concurrency, lane = '', engine = LOCAL_ENGINE } = options;
    const { limits = () => Promise.resolve(NO_LIMITS), host = hostOf(engine) } = options;
    const { handle, onError, takeoverMs = TAKEOVER_MS, tickMs = TICK_MS, draining = false } = options;
    this.beginsDrained = draining;
    this.handler = handle;
    this.onError = (error) => onError(isReplyError(error) ? toRedisError(link.address.name, error) : error);
    this.prefix = link.prefix;
    this.queue = queueOf({ lane, engine });
    this.connection = openRedisClient(link.address, { maxRetriesPerRequest: null });
    this.scheduler = openSchedulerClient(this.connection, { prefix: link.prefix, limits, takeoverMs });
    const own = { pid: process.pid, version: haloVersion() };
    const registration = { id, lane, engine, host, slots: concurrency, ...own };
    const onDraining = (draining: boolean) => void this.pauses.set('drain', draining).catch(this.onError);
    const onLost = (jobId: string) => void this.worker.cancelJob(jobId, 'taken over by another engine');
    const client = { worker: registration, tickMs, draining, onDraining, onLost, onError: this.onError };
    this.slots = new SlotClient(this.scheduler, client);
    this.worker = new Worker<unknown>(
      this.queue,
      // Declares three parameters, because bullmq passes the signal only to a function that declares it.
      (job, token, signal) => this.handle(job, token, signal),
      {
        connection: this.connection,
        prefix: link.prefix,
        autorun: false,
        skipVersionCheck: true,
        concurrency,
        lockDuration: takeoverMs,
        stalledInterval: Math.round(takeoverMs / STALL_CHECKS),
        maxStalledCount: 5,
      },
    );
    this.worker.on('error', this.onError);
    this.worker.on('completed', (job) => this.requeue(job));
    this.worker.on('failed', (_job, error) => this.onError(error));
    renewJobLocks(this.worker, { client: this.connection, takeoverMs, tokens: this.lockTokens });
    this.pauses = new PauseSwitch(this.worker);
    pauseOnOom(this.worker, this.pauses);
  }

  /** Resolves when the consumer takes jobs. */
  async start(): Promise<void> {
    if (this.beginsDrained) await this.pauses.set('drain', true);
    this.worker.run().catch(this.onError);
    await this.worker.waitUntilReady();
    await this.slots.start();
  }

  /** Takes no jobs while the engine of the worker is away. Running ones continue. */
  async setAway(away: boolean): Promise<void> {
    await this.pauses.set('engine', away);
    await this.slots.setAway(away);
  }

  /** Stops taking jobs, aborts the running ones and returns the unfinished ones to the queue, within about `graceMs`. */
  async close(graceMs: number): Promise<void> {
    const deadline = new AbortController();
    const shutDown = async () => {
      await this.pauses.set('close', true);
      await this.slots.stopTaking();
      this.closing.abort(new Error('the worker is shutting down'));
      await this.worker.close();
      await this.slots.close();
      deadline.abort();
    };
    await Promise.race([shutDown().catch(this.onError), sleep(graceMs, deadline.signal)]);
    if (!deadline.signal.aborted) await Promise.race([this.worker.close(true), sleep(1000)]);
    void this.slots.close();
    await this.scheduler.close();
    this.connection.disconnect();
  }

  private async handle(job: Job<unknown>, token: string | undefined, cancel: AbortSignal | undefined): Promise<void> {
    const parsed = parseJob(job);
    if (typeof parsed === 'string') return this.rejectJob(job, parsed);
    const signal = AbortSignal.any(cancel === undefined ? [this.closing.signal] : [cancel, this.closing.signal]);
    const lastTry = job.attemptsMade + 1 >= (job.opts.attempts ?? 1);
    const id = job.id ?? '';
    this.lockTokens.set(id, token ?? '');
    try {
      signal.throwIfAborted();
      // The job lost its slot while it waited here. It is queued again with its next slot.
      const begun = await this.slots.begin(id);
      if (begun === undefined) return;
      const { queuedMs } = begun;
      const result = await this.handler(parsed, signal, { jobId: id, lastTry, ...defined({ queuedMs }) });
      if (result.kind === 'again') this.requeues.set(id, result);
      else await this.slots.finish(id);
      if (result.kind === 'rejected') await this.rejectJob(job, result.reason);
    } catch (error) {
      if (error instanceof UnrecoverableError) throw error;
      if (this.closing.signal.aborted) return await this.handBack(job, token);
      // A job without its lock belongs to another worker, and so does its slot.
      if (lastTry && cancel?.aborted !== true) await this.slots.finish(id);
      else this.slots.forget(id);
      throw error;
    } finally {
      if (this.lockTokens.get(id) === token) this.lockTokens.delete(id);
    }
  }

  private requeue({ id = '' }: Job<unknown>): void {
    const how = this.requeues.get(id);
    this.requeues.delete(id);
    if (how !== undefined) this.slots.requeue(id, how).catch(this.onError);
  }

  /** Fails an invalid job for good and keeps a bounded copy of it as a dead letter. */
  private async rejectJob(job: Job<unknown>, reason: string): Promise<never> {
    const { id = '', name, data } = job;
    await addDeadLetter(this.connection, this.prefix, { reason, queue: this.queue, id, name, data });
    job.opts.removeOnFail = true;
    throw new UnrecoverableError(`Job ${safeLine(id, 100)} is not a job of this halo and was rejected: ${reason}.`);
  }

  /** Returns a job to the queue, without a delay, which other machines would compare with their own clocks. */
  private async handBack(job: Job<unknown>, token: string | undefined): Promise<never> {
    const { id = '' } = job;
    this.slots.forget(id);
    await job.moveToWait(token);
    await this.slots.giveBack(id).catch(this.onError);
    throw new WaitingError();
  }
}

/** Each configured engine counts as a host. */
function hostOf(engine: string): string {
  return engine === LOCAL_ENGINE ? hostname() : `engine ${engine}`;
}

/** Why a worker takes no jobs: Redis fails, its engine does not answer, an operator drains the worker, or it closes. */
type PauseReason = 'failing' | 'engine' | 'drain' | 'close';

/** The only place that pauses and resumes a worker: it takes jobs while there is no reason against it. */
class PauseSwitch {
  readonly #worker: Worker<unknown>;
  readonly #reasons = new Set<PauseReason>();

  constructor(worker: Worker<unknown>) {
    this.#worker = worker;
  }

  /** Adds or removes a reason. Resolves when the worker fetches no more jobs, or fetches jobs again. */
  async set(reason: PauseReason, holds: boolean): Promise<void> {
    const wasPaused = this.#reasons.size > 0;
    if (holds) this.#reasons.add(reason);
    else this.#reasons.delete(reason);
    const isPaused = this.#reasons.size > 0;
    if (isPaused !== wasPaused) await (isPaused ? this.#worker.pause(true) : this.#worker.resume());
  }
}

const PAUSE_MS = 3000;

/**
 * Pauses a worker for three seconds whenever Redis replies with an error. A server without free memory fails
 * immediately, and bullmq would repeat the command thousands of times a second.
 */
function pauseOnOom(worker: Worker<unknown>, pauses: PauseSwitch): void {
  let timer: NodeJS.Timeout | undefined;
  worker.on('error', (error) => {
    if (timer !== undefined || !isReplyError(error)) return;
    void pauses.set('failing', true);
    timer = setTimeout(() => {
      timer = undefined;
      void pauses.set('failing', false);
    }, PAUSE_MS).unref();
  });
}

interface RenewLocksOptions {
  client: Redis;
  /** How long a lock lasts, in ms. */
  takeoverMs: number;
  /** The lock token of each job that the worker runs, by job id. */
  tokens: ReadonlyMap<string, string>;
}

const RETRY_MS = 500;

/**
 * Cancels a job when its lock is lost, because another worker owns it then. A lock that expired because Redis had no
 * memory to renew it is not lost, since no other worker could take it: it is acquired again as soon as Redis allows it.
 */
function renewJobLocks(worker: Worker<unknown>, { client, takeoverMs, tokens }: RenewLocksOptions): void {
  const regaining = new Set<string>();
  const regain = async (id: string): Promise<void> => {
    const token = tokens.get(id) ?? '';
    const take = async () => {
      const isActive = (await client.lpos(worker.toKey('active'), id)) !== null;
      return isActive && (await client.set(worker.toKey(`${id}:lock`), token, 'PX', takeoverMs, 'NX')) !== null;
    };
    while (tokens.get(id) === token) {
      try {
        if (await take()) return;
        break;
      } catch (error) {
        if (!isReplyError(error)) throw error;
        await sleep(RETRY_MS);
      }
    }
    worker.cancelJob(id, 'lock lost');
  };
  worker.on('lockRenewalFailed', (ids) => {
    for (const id of ids.filter((each) => !regaining.has(each))) {
      regaining.add(id);
      regain(id)
        .catch(() => worker.cancelJob(id, 'lock lost'))
        .finally(() => regaining.delete(id));
    }
  });
}
