import type { Queue } from 'bullmq';
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
  ids: Scheduler['ids'];
  list: Scheduler['list'];
  slots: Scheduler['slots'];
  workers: Scheduler['workers'];
  /** The queue of a lane; '' is the shared queue. */
  queueOf(lane: string): Promise<Queue<StoryJob>>;
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
  const queueOf = async (lane: string) => {
    // A submit without a worker uses none, and would take longer to load bullmq than for all other work with Redis.
    const { Queue } = await import('bullmq');
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
    ids: () => scheduler.ids(),
    list: () => scheduler.list(),
    slots: () => scheduler.slots(),
    workers: () => scheduler.workers(),
    async update(update) {
      const reply = await scheduler.update(update);
      for (const { id, entry } of reply.granted) await add(await queueOf(entry.lane), id, entry);
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

/** A slot expires after thirty ticks, so that a short delay does not lose it. */
export const TICK_MS = 1000;

interface SlotClientOptions {
  /** The worker to register; `slots` is the number of jobs that it runs in parallel. */
  worker: Omit<NonNullable<SchedulerUpdate['worker']>, 'busy' | 'draining'>;
  /** The maximum time between two ticks. */
  tickMs: number;
  /** Called when the worker must take no more jobs, or may take jobs again. */
  onDraining: (draining: boolean) => void;
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
  private draining = false;
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
      const reply = await this.send({ begin: { id, host: this.options.worker.host } });
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
  async requeue(id: string, delayMs: number): Promise<void> {
    this.working.delete(id);
    this.scheduleDue(await this.send({ later: { id, delayMs } }));
  }

  /** Stops renewing the job's slot, which remains until it expires. */
  forget(id: string): void {
    this.working.delete(id);
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
      const { slots, draining } = this;
      const busy = new Set([...this.working.keys(), ...this.beginning]).size;
      const worker = { ...this.options.worker, slots, busy, draining };
      return { ...update, working: Object.fromEntries(this.working), worker };
    });
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
