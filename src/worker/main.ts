import type { Logger } from 'pino';
import { completeConfig } from '../config/apply-defaults.ts';
import { processEnv } from '../config/environment/host.ts';
import type { Host } from '../config/config.ts';
import { toHaloError, withHint, type HaloError } from '../core/failure/errors.ts';
import { unmetNeeds } from '../core/run/run-dependencies.ts';
import type { RunEnd } from '../core/run/plan.ts';
import type { Masker } from '../lib/secrets/masker.ts';
import { reach } from '../lib/failpoint.ts';
import { atMost } from '../lib/at-most.ts';
import { closeAll } from '../lib/cleanup.ts';
import { openAllowance } from '../queue/allowance.ts';
import { openFleetClock } from '../queue/redis/redis-clock.ts';
import { consume, type ConsumeOptions } from '../queue/consume.ts';
import { takeSetAside } from '../queue/damaged-data.ts';
import { jobIdOf } from '../queue/job.ts';
import { readHomeId } from '../queue/redis/home-id.ts';
import { openQueue, type StoryQueue } from '../queue/queue.ts';
import { findQueueServer } from './find-redis.ts';
import { asDiskError } from '../store/disk-errors.ts';
import { announceWorker } from '../store/presence.ts';
import { advanceRun } from './advance-run.ts';
import { isMisconfigured } from './disturbance.ts';
import { endRun } from './run/end-run.ts';
import { openLimits } from './run/fleet-limits.ts';
import { openStandings } from './lane.ts';
import { startReconciler, type Reconciler } from './reconcile.ts';
import { openContext } from './create-worker-context.ts';
import { openProcessMasker } from './process-masker.ts';
import type { WorkerContext } from './worker-context.ts';

export interface Worker {
  /** Takes no more work, hands back what is under way, and removes its sandboxes. */
  close(): Promise<void>;
}

export interface WorkerOptions {
  host: Host;
  /** Learns what the worker learns; by default one of its own. */
  masker?: Masker;
  /** How many stories, of one run or several, are worked on at once. */
  concurrency: number;
  log: Logger;
  /** Works only on the runs of this owner, who announced itself (store/presence.ts); else on those of nobody. */
  owner?: string;
}

/** How long a closing worker waits for what it has under way, and then for its cleaning: whoever comes next sweeps up. */
const CLOSE_MS = 20_000;
const CLEAN_MS = 10_000;

/** Starts taking stories from the queue. What was opened is closed again when it cannot. */
export async function startWorker(options: WorkerOptions): Promise<Worker> {
  const opened: (() => unknown)[] = [];
  const close = () => closeAll(opened);
  try {
    await openWorker(options, opened);
    return { close };
  } catch (error) {
    await close().catch((fault: unknown) => options.log.warn({ err: fault }, 'the worker could not be closed'));
    throw error;
  }
}

/** Notes in `opened` how to close it, step by step. */
async function openWorker(options: WorkerOptions, opened: (() => unknown)[]): Promise<void> {
  const { host, concurrency, log, owner, masker = openProcessMasker(host, processEnv()) } = options;
  const link = await findQueueServer(host, ({ what, hint }) => log.warn({ hint }, what));
  opened.push(() => link.close());
  const damaged = await takeSetAside(host.home);
  if (damaged !== undefined)
    log.warn(damaged, 'the data of Redis was damaged: the queue is made anew from the journals');
  const cleaning = new Set<Promise<void>>();
  const homeId = await readHomeId(host.home);
  const shared = await openAllowance(link);
  opened.push(() => shared.close());
  const clock = await openFleetClock(link);
  opened.push(() => clock.close());
  const worker = openContext({ host, homeId, log, masker, cleaning, shared, now: clock.now });
  const limits = openLimits(host.home);
  const { takeoverMs } = host;
  const queue = await openQueue(link, { standingOf: openStandings(host.home, worker.store), limits, takeoverMs });
  opened.push(() => queue.close());
  if (owner !== undefined) opened.push(() => queue.dropLane(owner).catch(ignore));

  const reconciler = startReconciler(worker, queue, owner);
  // An engine that hangs must not keep a worker.
  opened.push(() => atMost(CLEAN_MS, Promise.allSettled([reconciler.stop(), ...cleaning])));
  const handle = makeHandler(worker, { host, queue, reconciler });
  const consumer = consume(link, {
    concurrency,
    limits,
    ...(owner === undefined ? {} : { lane: owner }),
    takeoverMs,
    handle,
    onError: (error) => log.warn({ err: error }, 'the queue reports a fault'),
  });
  opened.push(() => consumer.close(CLOSE_MS));
  // From the first moment of closing on.
  opened.push(() => void reconciler.stop());
  await consumer.ready;
  if (owner !== undefined) return;
  const presence = await announceWorker(host.home, 'any');
  opened.push(() => presence.leave());
}

interface Handling {
  host: Host;
  queue: StoryQueue;
  reconciler: Reconciler;
}

/** What is done for a job: the run is taken further, and what follows is queued. */
function makeHandler(worker: WorkerContext, { host, queue, reconciler }: Handling): ConsumeOptions['handle'] {
  const { log } = worker;
  // What follows is in the journal already: while Redis is away it waits for the reconciler, and nothing fails.
  const inQueue = (work: Promise<void>) =>
    work.catch((error: unknown) => log.warn({ err: error }, 'what follows could not be queued yet'));
  return async (job, signal, { jobId, lastTry }) => {
    const { runId } = job;
    try {
      await reach('job.taken');
      if (unmetNeeds(await worker.store.readState(runId)).length > 0) return undefined;
      const next = await advanceRun(worker, job, signal);
      // A job cannot be queued while it runs: it comes again instead.
      const own = next.find((following) => jobIdOf(following) === jobId);
      for (const following of next) if (following !== own) await inQueue(queue.enqueue(following));
      if (next.length === 0) await inQueue(reconciler.wake(runId));
      await reach('job.done');
      return own && { againMs: own.delayMs ?? 0 };
    } catch (error) {
      if (signal.aborted) throw error;
      const failure = toHaloError(asDiskError(host.home, error));
      if (failure.code === 'RUN_NOT_FOUND') return { unknown: `there is no run ${runId} in ${host.home}` };
      log.error({ runId, code: failure.code, err: error }, 'a run could not be taken further');
      if (!lastTry && !isMisconfigured(failure)) throw error;
      await endFaultyRun(worker, runId, failure);
      return undefined;
    }
  };
}

async function endFaultyRun(worker: WorkerContext, runId: string, failure: HaloError): Promise<void> {
  const end: RunEnd = { stopReason: failure.stopReason ?? 'UNKNOWN_ERROR', detail: withHint(failure) };
  const record = await worker.store.readRecord(runId);
  await endRun(worker, { runId, config: completeConfig(record.config) }, () => end);
}

function ignore(): void {}
