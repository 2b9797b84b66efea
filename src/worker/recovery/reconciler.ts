import { randomBytes } from 'node:crypto';
import { readEngines } from '../../config/host-rules.ts';
import { nextDeadline } from '../../core/run/questions.ts';
import { unmetNeeds } from '../../core/run/run-dependencies.ts';
import { ignore } from '../../lib/async.ts';
import { defined } from '../../lib/guards.ts';
import { jobIdOf } from '../../queue/job.ts';
import type { StoryQueue } from '../../queue/queue.ts';
import type { OpenRun } from '../../store/open-runs.ts';
import { isWorkerAlive, removeDeadWorkers } from '../../store/process-registry.ts';
import { expireQuestions } from '../control/answer-story.ts';
import { liveOwnerOf } from '../run/run-ownership.ts';
import { nextJobs } from '../run/next-jobs.ts';
import { updateDependencies } from './update-dependencies.ts';
import { sweepOrphans } from './sweep-orphans.ts';
import type { WorkerContext } from '../worker-context.ts';

const EVERY_MS = 10_000;
/** Orphans are swept every sixth time, since the engine needs some time to list them. */
const SWEEP_EVERY = 6;
/** How often all journals are compared, in addition to those that must have changed: a process may have died in between. */
const COMPARE_ALL_MS = 5 * 60_000;
/** The lease of the worker that compares for all others. It ends soon after its holder died. */
const LEASE = 'reconciler';
const LEASE_TURNS = 3 / 2;

interface ReconcilerOptions {
  /** Handles only the runs of this process; absent: those without an owner. */
  owner?: string | undefined;
  /** HALO_TAKEOVER, in ms: a shorter time than ten seconds is also how often it compares. */
  takeoverMs?: number | undefined;
  /** What one worker does about every minute, in addition; default: nothing. */
  upkeep?: readonly ((worker: WorkerContext, signal: AbortSignal) => Promise<void>)[];
}

/** What an open run needs, as far as its journal says. */
interface Needed {
  /** Ids of the jobs that must be in the queue. */
  jobs: readonly string[];
  /** The runs for which it waits: jobs become due when one of them ends. */
  waitsFor?: readonly string[];
  /** The process that owns the run: jobs become due when it dies. */
  owner?: string;
  /** When a question of it has to be answered, in ms since 1970. */
  questionsDueAt?: number;
}

/** What a comparison found, so that the next one need not read the run again. */
interface Compared extends Needed {
  /** Size of the journal, and of those of the runs for which it waits. */
  bytes: number;
  bytesOfNeeds: readonly number[];
}

/**
 * Compares the journals with the queue, at its start and every ten seconds, answers questions whose deadline has passed, and queues missing jobs: Redis may have been
 * wiped, or a process may have died after writing an event but before enqueueing the job. Handles runs without an owner, or
 * those of `owner`. Also sweeps orphans, and removes old runs once a day. Of several workers, one compares. While no run
 * changes, it compares in memory what it knows with the queue and reads no files of runs; after a change, it reads the
 * runs whose journal has grown, or that of a run for which they wait, or whose jobs are missing.
 */
export class Reconciler {
  private readonly worker: WorkerContext;
  private readonly queue: StoryQueue;
  private readonly owner: string | undefined;
  private readonly id = randomBytes(8).toString('hex');
  private readonly compared = new Map<string, Compared>();
  private sweep: () => Promise<void>;
  private readonly compare: () => Promise<void>;
  private comparing: Promise<void>;
  private sweeping: Promise<void> | undefined;
  private readonly upkeep: () => Promise<void>;
  private upkeepRunning: Promise<void> | undefined;
  private readonly closing = new AbortController();
  private readonly everyMs: number;
  private readonly timer: NodeJS.Timeout;
  private turns = 0;
  /** Whether this worker compares for all others. */
  private leads = false;
  /** When an open run had changed last, before all of them were compared. */
  private changedAt = -1;
  /** The engines of config.toml with which the jobs were queued. */
  private engines: string | undefined;
  /** When all open runs were compared, in ms since the process started. */
  private comparedAllAt = -Infinity;

  constructor(
    worker: WorkerContext,
    queue: StoryQueue,
    { owner, takeoverMs = EVERY_MS, upkeep = [] }: ReconcilerOptions = {},
  ) {
    this.worker = worker;
    this.queue = queue;
    this.owner = owner;
    this.everyMs = Math.min(EVERY_MS, takeoverMs);
    const warn = (message: string) => (error: unknown) => worker.log.warn({ err: error }, message);
    this.sweep = this.openSweep();
    const { signal } = this.closing;
    const each = upkeep.map((call) => () => call(worker, signal).catch(warn('upkeep failed')));
    this.upkeep = coalesce(async () => void (await Promise.all(each.map((call) => call()))));
    this.compare = coalesce(() => this.compareOnce().catch(warn('reconciliation failed')));
    this.comparing = this.compare();
    this.timer = setInterval(() => void (this.comparing = this.compare()), this.everyMs).unref();
  }

  /** Call it when a run has ended: queues the runs that wait for it. */
  async wake(endedId: string): Promise<void> {
    const jobs = await this.queue.jobIds();
    for (const { runId } of await this.worker.store.openRuns()) {
      const known = this.compared.get(runId);
      if (runId === endedId || (known !== undefined && known.waitsFor?.includes(endedId) !== true)) continue;
      await this.inspect(runId, jobs);
    }
  }

  /**
   * Sweeps orphans before it is due: the engine may have some from the time in which it did not answer. A sweep that began
   * then may wait for an answer until its deadline.
   */
  sweepNow(): void {
    this.sweep = this.openSweep();
    this.sweeping = this.sweep();
  }

  private openSweep(): () => Promise<void> {
    const { worker } = this;
    return coalesce(() =>
      sweepOrphans(worker).catch((error: unknown) => worker.log.warn({ err: error }, 'orphan sweep failed')),
    );
  }

  /** Begins no further comparison and waits for the running one. */
  async close(): Promise<void> {
    clearInterval(this.timer);
    this.closing.abort();
    await Promise.all([this.comparing, this.sweeping, this.upkeepRunning]);
    if (this.owner === undefined) await this.queue.releaseLease(LEASE, this.id).catch(ignore);
  }

  private async compareOnce(): Promise<void> {
    const { worker, queue, owner } = this;
    const isFirst = this.turns === 0;
    // Not awaited: runs are queued even if the engine does not answer.
    if (this.turns++ % SWEEP_EVERY === 0) this.sweeping = this.sweep();
    if (owner === undefined) {
      this.leads = await queue.lease(LEASE, this.id, Math.ceil(this.everyMs * LEASE_TURNS));
      // A worker that starts compares in any case: its user may have repaired something.
      if (!this.leads && !isFirst) return;
      for (const lane of await removeDeadWorkers(worker.home)) await queue.dropLane(lane);
      if (this.turns % SWEEP_EVERY === 1) this.upkeepRunning = this.upkeep();
    }
    const engines = JSON.stringify(await readEngines(worker.home));
    if (engines !== this.engines) {
      // Which engines may run a job may have changed: all jobs are queued again.
      this.compared.clear();
      this.changedAt = -1;
      this.engines = engines;
    }
    await worker.store.publishRuns();
    const changedAt = await worker.store.openRunsChangedAt();
    const isDue = performance.now() - this.comparedAllAt > COMPARE_ALL_MS;
    const jobs = await queue.jobIds();
    if (changedAt === this.changedAt && !isDue) return this.compareKnown(jobs);
    const open = await worker.store.openRuns();
    for (const { runId } of open) await this.inspect(runId, jobs);
    const present = new Set(open.map(({ runId }) => runId));
    for (const runId of this.compared.keys()) if (!present.has(runId)) this.compared.delete(runId);
    if (isFirst) await this.findOthers(open);
    this.changedAt = changedAt;
    if (isDue) this.comparedAllAt = performance.now();
  }

  /** For runs that have not changed. */
  private async compareKnown(queued: ReadonlySet<string>): Promise<void> {
    for (const [runId, known] of this.compared)
      if (await this.isIncomplete(known, queued)) await this.inspect(runId, queued);
  }

  private async isIncomplete({ jobs, owner, questionsDueAt }: Compared, queued: ReadonlySet<string>): Promise<boolean> {
    if (questionsDueAt !== undefined && questionsDueAt <= this.worker.now()) return true;
    if (!jobs.every((id) => queued.has(id))) return true;
    return owner !== undefined && !(await isWorkerAlive(this.worker.home, owner));
  }

  /** Runs that were copied into the home are not listed as open. */
  private async findOthers(known: readonly OpenRun[]): Promise<void> {
    const { worker, queue } = this;
    await worker.store.findOpenRuns();
    const before = new Set(known.map(({ runId }) => runId));
    const found = (await worker.store.openRuns()).filter(({ runId }) => !before.has(runId));
    if (found.length === 0) return;
    const jobs = await queue.jobIds();
    for (const { runId } of found) await this.inspect(runId, jobs);
  }

  private async inspect(runId: string, queued: ReadonlySet<string>): Promise<void> {
    const { worker, queue, owner, compared } = this;
    const before = compared.get(runId);
    const [bytes, ...bytesOfNeeds] = await this.bytesOf([runId, ...(before?.waitsFor ?? [])]);
    const isSame =
      before?.bytes === bytes && before?.bytesOfNeeds.every((known, index) => known === bytesOfNeeds[index]);
    if (before !== undefined && isSame && !(await this.isIncomplete(before, queued))) return;
    const mayExpire = this.leads || owner !== undefined;
    const needed = await requeue(worker, queue, { runId, owner, mayExpire });
    // Sizes from before it was read: what is appended meanwhile is read the next time.
    const waitsFor = needed.waitsFor ?? [];
    const isKnown = before !== undefined && String(before.waitsFor ?? []) === String(waitsFor);
    compared.set(runId, {
      ...needed,
      bytes: bytes ?? 0,
      bytesOfNeeds: isKnown ? bytesOfNeeds : waitsFor.map(() => UNKNOWN),
    });
  }

  private bytesOf(runIds: readonly string[]): Promise<number[]> {
    return Promise.all(runIds.map((id) => this.worker.store.journalBytes(id)));
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
  { runId, owner, mayExpire }: { runId: string; owner: string | undefined; mayExpire: boolean },
): Promise<Needed> {
  const { home, store, log } = worker;
  const read = () =>
    store.readState(runId).catch((error: unknown) => {
      log.warn({ runId, err: error }, 'run cannot be read');
    });
  let state = await read();
  if (state !== undefined && mayExpire && (whenDue(nextDeadline(state)).questionsDueAt ?? Infinity) <= worker.now()) {
    if ((await liveOwnerOf(home, state)) === owner) await expireQuestions(worker, { runId, now: worker.now(), queue });
    state = await read();
  }
  if (state === undefined) return NOTHING;
  const questions = whenDue(nextDeadline(state));
  if (state.status === 'ended') {
    await store.settle(runId).catch((error: unknown) => {
      log.warn({ runId, err: error }, 'files of an ended run could not be updated');
    });
    return { ...NOTHING, ...questions };
  }
  // Another process may die, and then its runs are for all; who owns a run is in its journal.
  const ofOwner = defined({ owner: owner === undefined ? state.owner : undefined });
  if ((await liveOwnerOf(home, state)) !== owner) return { ...NOTHING, ...ofOwner };
  const unmet = unmetNeeds(await updateDependencies(worker, state));
  if (unmet.length > 0) return { ...NOTHING, waitsFor: unmet.map(({ run }) => run) };
  const jobs = nextJobs(state, worker.now());
  for (const job of jobs) await queue.enqueue(job);
  // A job in the lane of a dead owner has the same id.
  return { jobs: jobs.map(jobIdOf), ...questions, ...(jobs.length > 0 && ofOwner) };
}

function whenDue(deadline: string | undefined): Pick<Needed, 'questionsDueAt'> {
  return deadline === undefined ? {} : { questionsDueAt: Date.parse(deadline) };
}

const NOTHING: Needed = { jobs: [] };

/** The run is read once more. */
const UNKNOWN = -1;
