import { applyDefaults } from '../config/apply-defaults.ts';
import { toHaloError, withHint, type HaloError } from '../core/failure/errors.ts';
import type { RunEnd } from '../core/run/plan.ts';
import { unmetNeeds } from '../core/run/run-dependencies.ts';
import { failpoint } from '../lib/failpoint.ts';
import { defined } from '../lib/guards.ts';
import type { ConsumerOptions } from '../queue/consumer.ts';
import { jobIdOf } from '../queue/job.ts';
import type { StoryQueue } from '../queue/queue.ts';
import { toDiskError } from '../store/disk-errors.ts';
import { compressOutput } from '../store/run/compress-output.ts';
import type { Reconciler } from './recovery/reconciler.ts';
import { advanceRun, type RunnerContext } from './run/advance-run.ts';
import { endRun } from './run/end-run.ts';
import { isMisconfigured } from './run/infrastructure-failure.ts';
import type { WorkerContext } from './worker-context.ts';

/** The handler of a worker's jobs: advances the run of a job and queues the next jobs. */
export function createJobHandler(
  context: RunnerContext,
  { queue, reconciler }: { queue: Pick<StoryQueue, 'enqueue'>; reconciler: Pick<Reconciler, 'wake'> },
): ConsumerOptions['handle'] {
  const { worker } = context;
  const { home, log } = worker;
  // The next jobs follow from the journal: if Redis is away, the reconciler queues them later.
  const inQueue = (work: Promise<void>) =>
    work.catch((error: unknown) => log.warn({ err: error }, 'enqueue failed, reconciler will retry'));
  return async (job, signal, { jobId, lastTry, queuedMs }) => {
    const { runId } = job;
    try {
      await failpoint('job.taken');
      if (unmetNeeds(await worker.store.readState(runId)).length > 0) return { kind: 'done' };
      const next = await advanceRun(context, { ...job, queuedMs }, signal);
      // A running job cannot be queued again; it is repeated instead.
      const own = next.find((following) => jobIdOf(following) === jobId);
      for (const following of next) if (following !== own) await inQueue(queue.enqueue(following));
      if (next.length === 0) await inQueue(reconciler.wake(runId));
      if (next.length === 0) compressInBackground(worker, runId);
      await failpoint('job.done');
      return own === undefined
        ? { kind: 'done' }
        : { kind: 'again', afterMs: own.delayMs ?? 0, ...defined({ avoid: own.avoid }) };
    } catch (error) {
      if (signal.aborted) throw error;
      const failure = toHaloError(toDiskError(home, error));
      if (failure.code === 'RUN_NOT_FOUND') return { kind: 'rejected', reason: `there is no run ${runId} in ${home}` };
      log.error({ runId, code: failure.code, err: error }, 'job failed');
      if (!lastTry && !isMisconfigured(failure)) throw error;
      await endFaultyRun(worker, runId, failure);
      return { kind: 'done' };
    }
  };
}

/** Compresses the output of an ended run. If the worker dies, a daily pass does it. */
function compressInBackground(worker: WorkerContext, runId: string): void {
  const { home, log } = worker;
  const work = compressOutput(home, runId).then(
    (bytes) => void (bytes > 0 && log.info({ runId, bytes }, 'compressed the output of the attempts')),
    (error: unknown) => log.warn({ runId, err: error }, 'output could not be compressed'),
  );
  worker.inBackground(work);
}

async function endFaultyRun(worker: WorkerContext, runId: string, failure: HaloError): Promise<void> {
  const end: RunEnd = { stopReason: failure.stopReason ?? 'UNKNOWN_ERROR', detail: withHint(failure) };
  const record = await worker.store.readRecord(runId);
  await endRun(worker, { runId, config: applyDefaults(record.config) }, ({ stories }) => {
    const story = stories.find(({ progress }) => progress === 'in_progress')?.id;
    return { ...end, ...defined({ story }) };
  });
}
