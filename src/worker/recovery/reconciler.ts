import { unmetNeeds } from '../../core/run/run-dependencies.ts';
import type { StoryQueue } from '../../queue/queue.ts';
import { removeDeadWorkers } from '../../store/process-registry.ts';
import { liveOwnerOf } from '../run/run-ownership.ts';
import { nextJobs } from '../run/next-jobs.ts';
import { updateDependencies } from './update-dependencies.ts';
import { sweepOrphans } from './sweep-orphans.ts';
import type { WorkerContext } from '../worker-context.ts';

const EVERY_MS = 10_000;
/** Orphans are swept every sixth time, since the engine needs some time to list them. */
const SWEEP_EVERY = 6;

/**
 * Compares the journals with the queue, at its start and every ten seconds, and queues missing jobs: Redis may have been
 * wiped, or a process may have died after writing an event but before enqueueing the job. Handles runs without an owner, or
 * those of `owner`. Also sweeps orphans.
 */
export class Reconciler {
  private readonly worker: WorkerContext;
  private readonly queue: StoryQueue;
  private readonly owner: string | undefined;
  /** The journal size of each ended run; it grows if a user reopens the run. */
  private readonly ended = new Map<string, number>();
  /** The dependencies of each run; they never change. */
  private readonly needs = new Map<string, string[]>();
  private readonly sweep: () => Promise<void>;
  private readonly compare: () => Promise<void>;
  private comparing: Promise<void>;
  private sweeping: Promise<void> | undefined;
  private readonly timer: NodeJS.Timeout;
  private turns = 0;

  constructor(worker: WorkerContext, queue: StoryQueue, owner: string | undefined) {
    this.worker = worker;
    this.queue = queue;
    this.owner = owner;
    const warn = (message: string) => (error: unknown) => worker.log.warn({ err: error }, message);
    this.sweep = coalesce(() => sweepOrphans(worker).catch(warn('orphan sweep failed')));
    this.compare = coalesce(() => this.compareOnce().catch(warn('reconciliation failed')));
    this.comparing = this.compare();
    this.timer = setInterval(() => void (this.comparing = this.compare()), EVERY_MS).unref();
  }

  /** Call it when a run has ended: queues the runs that wait for it. */
  async wake(endedId: string): Promise<void> {
    for (const runId of await this.worker.store.runIds()) {
      const needs = this.needs.get(runId) ?? (await needsOf(this.worker, runId));
      this.needs.set(runId, needs);
      if (needs.includes(endedId)) await this.inspect(runId);
    }
  }

  /** Begins no further comparison and waits for the running one. */
  async close(): Promise<void> {
    clearInterval(this.timer);
    await Promise.all([this.comparing, this.sweeping]);
  }

  private async compareOnce(): Promise<void> {
    const { worker, queue, owner } = this;
    // Not awaited: runs are queued even if the engine does not answer.
    if (this.turns++ % SWEEP_EVERY === 0) this.sweeping = this.sweep();
    if (owner === undefined) for (const lane of await removeDeadWorkers(worker.home)) await queue.dropLane(lane);
    await worker.store.publishRuns();
    for (const runId of await worker.store.runIds()) await this.inspect(runId);
  }

  private async inspect(runId: string): Promise<void> {
    const { worker, queue, owner, ended } = this;
    const bytes = await worker.store.journalBytes(runId);
    if (ended.get(runId) === bytes) return;
    if ((await requeue(worker, queue, { runId, owner })) === 'ended') ended.set(runId, bytes);
  }
}

/** Calls during a running call share its result. */
function coalesce(work: () => Promise<void>): () => Promise<void> {
  let running: Promise<void> | undefined;
  return () => (running ??= work().finally(() => (running = undefined)));
}

/** Queues the missing jobs of a run, unless it waits for other runs. An unreadable run must not block the others. */
async function requeue(
  worker: WorkerContext,
  queue: StoryQueue,
  { runId, owner }: { runId: string; owner: string | undefined },
): Promise<'open' | 'ended'> {
  const { home, store, log } = worker;
  const state = await store.readState(runId).catch((error: unknown) => {
    log.warn({ runId, err: error }, 'run cannot be read');
  });
  if (state === undefined) return 'open';
  if (state.status === 'ended') {
    await store.freshen(runId).catch((error: unknown) => {
      log.warn({ runId, err: error }, 'files of an ended run could not be updated');
    });
    return 'ended';
  }
  if ((await liveOwnerOf(home, state)) !== owner) return 'open';
  if (unmetNeeds(await updateDependencies(worker, state)).length > 0) return 'open';
  for (const job of nextJobs(state, worker.now())) await queue.enqueue(job);
  return 'open';
}

async function needsOf({ store }: WorkerContext, runId: string): Promise<string[]> {
  const state = await store.readState(runId).catch(() => undefined);
  return state?.needs.map(({ run }) => run) ?? [];
}
