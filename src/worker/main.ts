import { join } from 'node:path';
import type { Logger } from 'pino';
import { completeConfig } from '../config/complete.ts';
import { processEnv, readSecret } from '../config/host.ts';
import type { Config, Host } from '../config/config.ts';
import type { HaloError } from '../core/errors.ts';
import { toHaloError } from '../core/errors.ts';
import { unmetNeeds } from '../core/needs.ts';
import type { RunEnd } from '../core/plan.ts';
import type { StopReason } from '../core/stop-reason.ts';
import type { Masker } from '../lib/secrets/masker.ts';
import { transcribe } from '../core/transcript.ts';
import { reach } from '../lib/failpoint.ts';
import { askOnce } from '../lib/ask-once.ts';
import { atMost } from '../lib/at-most.ts';
import { openAllowance, type SharedAllowance } from '../queue/allowance.ts';
import { openFleetClock } from '../queue/fleet-clock.ts';
import { consume, type Turn } from '../queue/consume.ts';
import { jobIdOf, type JobRef } from '../queue/job.ts';
import { readHomeId } from '../queue/home-id.ts';
import { openQueue } from '../queue/queue.ts';
import { findQueueServer } from './find-redis.ts';
import { openDocker } from '../sandbox/docker/engine.ts';
import { openProver } from '../sandbox/prove.ts';
import { asDiskError } from '../store/disk.ts';
import { announceWorker } from '../store/presence.ts';
import { openBreakers } from '../store/breakers.ts';
import { openStore } from '../store/store.ts';
import { advanceRun } from './advance-run.ts';
import { endRun } from './end-run.ts';
import { openLimits } from './fleet-limits.ts';
import { openStandings } from './lane.ts';
import { startReconciler } from './reconcile.ts';
import { openRoutes } from './mirrors.ts';
import { openModelKeys } from './model-key.ts';
import { learnSecrets, openProcessMasker } from './secrets.ts';
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

/** Stop reasons of errors that trying again will not mend: the run ends with them at once. */
const ENDS_RUN: readonly (StopReason | undefined)[] = [
  'MISSING_DEPENDENCY',
  'NOT_A_GIT_REPO',
  'CANNOT_START',
  'VALIDATION_FAILED',
];

/** Starts taking stories from the queue. The only place that puts a worker's parts together. */
export async function startWorker(options: WorkerOptions): Promise<Worker> {
  const { host, concurrency, log, owner, masker = openProcessMasker(host, processEnv()) } = options;
  const link = await findQueueServer(host, ({ what, hint }) => log.warn({ hint }, what));
  const cleaning = new Set<Promise<void>>();
  const homeId = await readHomeId(host.home);
  const shared = await openAllowance(link);
  const clock = await openFleetClock(link);
  const worker = openContext({ host, homeId, log, masker, cleaning, shared, now: clock.now });
  const limits = openLimits(host.home);
  const { takeoverMs } = host;
  const queue = await openQueue(link, { standingOf: openStandings(host.home, worker.store), limits, takeoverMs });

  const reconciler = startReconciler(worker, queue, owner);
  // What follows is in the journal already: while Redis is away it waits for the reconciler, and nothing fails.
  const inQueue = (work: Promise<void>) =>
    work.catch((error: unknown) => log.warn({ err: error }, 'what follows could not be queued yet'));
  const handle = async (job: JobRef, signal: AbortSignal, { jobId, lastTry }: Turn) => {
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
      if (!lastTry && !ENDS_RUN.includes(failure.stopReason)) throw error;
      await endFaultyRun(worker, runId, failure);
      return undefined;
    }
  };

  const consumer = consume(link, {
    concurrency,
    limits,
    ...(owner === undefined ? {} : { lane: owner }),
    takeoverMs,
    handle,
    onError: (error) => log.warn({ err: error }, 'the queue reports a fault'),
  });
  await consumer.ready;
  const presence = owner === undefined ? await announceWorker(host.home, 'any') : undefined;
  return {
    close: async () => {
      await presence?.leave();
      const reconciled = reconciler.stop();
      await consumer.close(CLOSE_MS);
      // An engine that hangs must not keep a worker.
      await atMost(CLEAN_MS, Promise.allSettled([reconciled, ...cleaning]));
      if (owner !== undefined) await queue.dropLane(owner).catch(ignore);
      await queue.close();
      shared.close();
      clock.close();
      await link.close();
    },
  };
}

interface Parts {
  host: Host;
  homeId: string;
  log: Logger;
  masker: Masker;
  /** Cleaning that goes on while the next story runs. */
  cleaning: Set<Promise<void>>;
  shared: SharedAllowance | undefined;
  now: () => number;
}

function openContext({ host, homeId, log, cleaning, masker, shared, now }: Parts): WorkerContext {
  const engine = openDocker();
  const env = processEnv();
  const modelKey = openModelKeys((name) => readSecret(env, name));
  const mountable = askOnce((dir: string) => engine.canMount(dir));
  const prove = openProver(engine, host.home);
  const reachable = askOnce((runtime: string | undefined) => engine.canReach(join(host.home, 'sockets'), runtime));
  // Ahead of the first story, which then finds it done; a failure is that story's to tell.
  const proving = prove('auto')
    .then(({ runtime }) => reachable(runtime))
    .then(ignore, ignore)
    .finally(() => cleaning.delete(proving));
  // A worker that closes at once still removes what it proved with.
  cleaning.add(proving);
  return {
    home: host.home,
    homeId,
    breakers: openBreakers(host.home),
    store: openStore(host.home, { transcribe, masker, now: () => new Date(now()) }),
    engine,
    log,
    now,
    shared,
    masker,
    learnSecrets: (config) => learnSecrets(masker, { config, home: host.home, env }),
    modelKey: async (source) => {
      const key = await modelKey(source);
      masker.learn([key]);
      return key;
    },
    findRoutes: openRoutes(host.home),
    caFile: readSecret(env, 'NODE_EXTRA_CA_CERTS'),
    transport: async ({ workspace }: Config) => {
      if (workspace.transport !== 'auto') return workspace.transport;
      return (await mountable(host.home)) ? 'mount' : 'stream';
    },
    channel: async ({ network, sandbox }) => {
      if (network.channel !== 'auto') return network.channel;
      const { runtime } = await prove(sandbox.runtime);
      return (await reachable(runtime)) ? 'socket' : 'stdio';
    },
    prove: ({ sandbox }) => prove(sandbox.runtime),
    inBackground: (work) => {
      const tracked = work
        .catch((error: unknown) => log.warn({ err: error }, 'something could not be cleaned up'))
        .finally(() => cleaning.delete(tracked));
      cleaning.add(tracked);
    },
  };
}

/** What a worker works with, for who takes no work from the queue but needs sandboxes. */
export function openIdle(parts: Omit<Parts, 'homeId' | 'masker' | 'shared' | 'now'>): WorkerContext {
  // An id of its own: a worker's sweep leaves alone what it makes.
  const masker = openProcessMasker(parts.host, processEnv());
  return openContext({ ...parts, homeId: 'verify', masker, shared: undefined, now: Date.now });
}

async function endFaultyRun(worker: WorkerContext, runId: string, failure: HaloError): Promise<void> {
  const hint = failure.hint === undefined ? '' : ` (${failure.hint})`;
  const stopReason = failure.stopReason ?? 'UNKNOWN_ERROR';
  await endAnyway(worker, runId, { stopReason, detail: `${failure.message}${hint}` });
}

async function endAnyway(worker: WorkerContext, runId: string, end: RunEnd): Promise<void> {
  const record = await worker.store.readRecord(runId);
  await endRun(worker, { runId, config: completeConfig(record.config) }, () => end);
}

function ignore(): void {}
