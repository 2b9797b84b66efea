import { unmetNeeds } from '../core/run/run-dependencies.ts';
import type { StoryQueue } from '../queue/queue.ts';
import { forgetDead } from '../store/presence.ts';
import { laneOf } from './lane.ts';
import { nextJobs } from './run/next-jobs.ts';
import { settleNeeds } from './recovery/update-dependencies.ts';
import { sweepOrphans } from './recovery/sweep-orphans.ts';
import type { WorkerContext } from './worker-context.ts';

const EVERY_MS = 10_000;
/** Looking for orphans takes the engine some time, and they do no harm for a minute. */
const SWEEP_EVERY = 6;

export interface Reconciler {
  /** A run ended: looks at those that wait for it. */
  wake(runId: string): Promise<void>;
  stop(): Promise<void>;
}

/**
 * Queues, now and every ten seconds, what the journals say is open and the queue has lost: Redis may have been wiped, or a
 * process may have died between its word in the journal and the job that follows from it. It looks at the runs that nobody
 * has for himself, or at those that `owner` has for itself. Sweeps orphans, too.
 */
export function startReconciler(worker: WorkerContext, queue: StoryQueue, owner: string | undefined): Reconciler {
  // With the size of its journal: a person may reopen a run.
  const ended = new Map<string, number>();
  /** What each run starts after, which never changes. */
  const needs = new Map<string, string[]>();
  let turns = 0;
  // Beside the rest: runs are queued whether or not the engine answers.
  const sweep = oneAtATime(() =>
    sweepOrphans(worker).catch((error: unknown) => {
      worker.log.warn({ err: error }, 'what attempts left behind could not be swept');
    }),
  );
  let sweeping: Promise<void> | undefined;
  const once = async () => {
    if (turns++ % SWEEP_EVERY === 0) sweeping = sweep();
    if (owner === undefined) for (const lane of await forgetDead(worker.home)) await queue.dropLane(lane);
    await worker.store.placeRuns();
    for (const runId of await worker.store.runIds()) await look(runId);
  };
  const look = async (runId: string) => {
    const bytes = await worker.store.journalBytes(runId);
    if (ended.get(runId) === bytes) return;
    if ((await requeue(worker, queue, { runId, owner })) === 'ended') ended.set(runId, bytes);
  };
  const compare = oneAtATime(() =>
    once().catch((error: unknown) => {
      worker.log.warn({ err: error }, 'the queue could not be compared with the journals');
    }),
  );
  let comparing = compare();
  const timer = setInterval(() => {
    comparing = compare();
  }, EVERY_MS).unref();
  return {
    wake: async (endedId) => {
      for (const runId of await worker.store.runIds()) {
        if (!needs.has(runId)) needs.set(runId, await needsOf(worker, runId));
        if (needs.get(runId)?.includes(endedId)) await look(runId);
      }
    },
    stop: async () => {
      clearInterval(timer);
      await Promise.all([comparing, sweeping]);
    },
  };
}

/** Work that is under way is not begun again: whoever asks for it meanwhile waits for that. */
function oneAtATime(work: () => Promise<void>): () => Promise<void> {
  let running: Promise<void> | undefined;
  return () => (running ??= work().finally(() => (running = undefined)));
}

/**
 * Does nothing for a run whose job waits or runs, nor for one that waits for other runs.
 * A run that cannot be read must not keep the others waiting.
 */
async function requeue(
  worker: WorkerContext,
  queue: StoryQueue,
  { runId, owner }: { runId: string; owner: string | undefined },
): Promise<'open' | 'ended'> {
  const { home, store, log } = worker;
  const state = await store.readState(runId).catch((error: unknown) => {
    log.warn({ runId, err: error }, 'a run cannot be read');
  });
  if (state === undefined) return 'open';
  if (state.status === 'ended') {
    await store.freshen(runId).catch((error: unknown) => {
      log.warn({ runId, err: error }, 'the files of a run could not be brought up to date');
    });
    return 'ended';
  }
  if ((await laneOf(home, state)) !== owner) return 'open';
  if (unmetNeeds(await settleNeeds(worker, state)).length > 0) return 'open';
  for (const job of nextJobs(state, worker.now())) await queue.enqueue(job);
  return 'open';
}

async function needsOf({ store }: WorkerContext, runId: string): Promise<string[]> {
  const state = await store.readState(runId).catch(() => undefined);
  return state?.needs.map(({ run }) => run) ?? [];
}
