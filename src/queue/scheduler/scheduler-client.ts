import type { Queue } from 'bullmq';
import { defined } from '../../lib/guards.ts';
import type { Redis } from 'ioredis';
import { JOB_NAME, queueOf, type StoryJob } from '../job.ts';
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
  ids: Scheduler['ids'];
  list: Scheduler['list'];
  slots: Scheduler['slots'];
  workers: Scheduler['workers'];
  /** The queue of a lane or an engine: see `queueOf`. */
  open(place: { lane: string; engine?: string | undefined }): Promise<Queue<StoryJob>>;
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
  const opened = new Map<string, Queue<StoryJob>>();
  const open: SchedulerClient['open'] = async (place) => {
    // A submit without a worker uses none, and would take longer to load bullmq than for all other work with Redis.
    const { Queue } = await import('bullmq');
    const name = queueOf(place);
    const known = opened.get(name);
    if (known !== undefined) return known;
    const queue = new Queue<StoryJob>(name, { connection, prefix, skipVersionCheck: true });
    queue.on('error', () => undefined);
    opened.set(name, queue);
    // A queue that was opened while Redis did not answer stays unusable.
    queue.waitUntilReady().catch(() => opened.delete(name));
    return queue;
  };
  return {
    open,
    ids: () => scheduler.ids(),
    list: () => scheduler.list(),
    slots: () => scheduler.slots(),
    workers: () => scheduler.workers(),
    async update(update) {
      const reply = await scheduler.update(update);
      for (const { id, entry } of reply.granted) {
        // A job that is left in the queue of an engine would keep a worker there from noticing that it has lost it.
        if (entry.from !== undefined) await (await open({ lane: '', engine: entry.from })).remove(id);
        await add(await open(entry), id, entry);
      }
      return reply;
    },
    async close() {
      for (const queue of opened.values()) await queue.close().catch(() => undefined);
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

/** A slot expires after thirty ticks, so that a short delay does not lose it. */
export const TICK_MS = 1000;

interface SlotClientOptions {
  /** The worker to register; `slots` is the number of jobs that it runs in parallel. */
  worker: Omit<NonNullable<SchedulerUpdate['worker']>, 'busy' | 'draining' | 'away'>;
  /** The maximum time between two ticks. */
  tickMs: number;
  /** Whether it begins drained; default: false. */
  draining?: boolean;
  /** Called when the worker must take no more jobs, or may take jobs again. */
  onDraining: (draining: boolean) => void;
  /** Called for a job of this worker that another engine has taken over. */
  onLost: (id: string) => void;
  /** Gets errors of ticks. The next tick runs anyway. */
  onError: (error: Error) => void;
}

/** A worker's view of the scheduler: registers the worker, renews the slots of its jobs, and polls for jobs that are due. */
export class SlotClient {
  private readonly scheduler: SchedulerClient;
  private readonly options: SlotClientOptions;
  private readonly tickMs: number;
  private readonly working = new Map<string, JobEntry>();
  /** Jobs that may have begun: the reply has not arrived. A tick in between counts them. */
  private readonly beginning = new Set<string>();
  private slots: number;
  /** Remembered here, so that a loss of data in Redis does not end it. */
  private draining: boolean;
  private away = false;
  /** Numbers of the last update that was sent, and of the last one whose reply was read. */
  private sent = 0;
  private read = 0;
  private timer: NodeJS.Timeout | undefined;
  private closed = false;
  private lastTick = Promise.resolve();

  constructor(scheduler: SchedulerClient, options: SlotClientOptions) {
    this.scheduler = scheduler;
    this.options = options;
    this.tickMs = options.tickMs;
    this.slots = options.worker.slots;
    this.draining = options.draining ?? false;
  }

  /** Registers the worker. While Redis accepts nothing, each tick tries it again, as for a worker that runs. */
  async start(): Promise<void> {
    await this.send({}).then(
      (reply) => this.scheduleDue(reply),
      (error: unknown) => this.options.onError(error as Error),
    );
    if (this.timer === undefined) this.schedule(this.tickMs);
  }

  /** The job that was taken from the queue, if it may start. */
  async begin(id: string): Promise<JobEntry | undefined> {
    this.beginning.add(id);
    try {
      const { host, engine } = this.options.worker;
      const reply = await this.send({ begin: { id, host, ...defined({ engine }) } });
      this.scheduleDue(reply);
      const entry = reply.started;
      if (entry !== undefined) this.working.set(id, entry);
      return entry;
    } finally {
      this.beginning.delete(id);
    }
  }

  /** Removes a finished job. */
  async finish(id: string): Promise<void> {
    this.working.delete(id);
    this.scheduleDue(await this.send({ finish: id }));
  }

  /** Returns the job's slot and queues the job again after that time. */
  async requeue(id: string, { afterMs: delayMs, avoid }: { afterMs: number; avoid?: string }): Promise<void> {
    this.working.delete(id);
    this.scheduleDue(await this.send({ later: { id, delayMs, ...defined({ avoid }) } }));
  }

  /** Stops renewing the job's slot, which remains until it expires. */
  forget(id: string): void {
    this.working.delete(id);
  }

  /** After `forget`, for a job that is in the queue again: if no worker of the engine would take it, it moves to another one. */
  async giveBack(id: string): Promise<void> {
    this.scheduleDue(await this.send({ back: id }));
  }

  /** Reports that the engine of the worker does not answer, or answers again. Its jobs in the queue move to other engines. */
  async setAway(away: boolean): Promise<void> {
    this.away = away;
    this.scheduleDue(await this.send({}));
  }

  /** Requests no more jobs. */
  async stopTaking(): Promise<void> {
    this.slots = 0;
    await this.send({});
  }

  /** Stops ticking and waits for the last tick. */
  async close(): Promise<void> {
    this.closed = true;
    clearTimeout(this.timer);
    await this.lastTick;
  }

  private async send(update: SchedulerUpdate): Promise<SchedulerReply> {
    let number = 0;
    const reply = await this.scheduler.update(() => {
      number = ++this.sent;
      const { slots, draining, away } = this;
      const busy = new Set([...this.working.keys(), ...this.beginning]).size;
      const worker = { ...this.options.worker, slots, busy, draining, ...(away && { away }) };
      return { ...update, working: Object.fromEntries(this.working), worker };
    });
    for (const id of reply.lost.filter((each) => this.working.delete(each))) this.options.onLost(id);
    // A reply that granted jobs is read only when they are queued.
    if (number < this.read) return reply;
    this.read = number;
    const { draining = this.draining } = reply;
    if (draining !== this.draining) {
      this.draining = draining;
      this.options.onDraining(draining);
    }
    return reply;
  }

  private schedule(ms: number): void {
    clearTimeout(this.timer);
    if (!this.closed) this.timer = setTimeout(() => this.tick(), ms).unref();
  }

  private tick(): void {
    this.lastTick = this.send({})
      .then(({ soonestMs = this.tickMs }) => this.schedule(Math.min(soonestMs, this.tickMs)))
      .catch((error: unknown) => {
        if (this.closed) return;
        this.options.onError(error as Error);
        this.schedule(this.tickMs);
      });
  }

  /** Schedules an earlier tick when a job is due before the next one. */
  private scheduleDue({ soonestMs }: { soonestMs: number | undefined }): void {
    if (soonestMs !== undefined && soonestMs < this.tickMs) this.schedule(soonestMs);
  }
}
