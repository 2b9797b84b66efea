import { toHaloError, withHint, type ErrorCode, type HaloError } from '../core/failure/errors.ts';
import type { AttemptRef, RunRepo } from '../core/journal/events.ts';
import type { FailureCause } from '../core/failure/failure.ts';
import { judgeDisturbance } from '../core/failure/judge-failure.ts';
import type { StopReason } from '../core/failure/stop-reason.ts';
import { asDiskError } from '../store/disk-errors.ts';
import type { Run } from './run/read-run.ts';
import { mendAfter } from './whole-mirror.ts';
import type { WorkerContext } from './worker-context.ts';

export interface Guarded extends Pick<Run, 'runId' | 'config'> {
  repo: RunRepo;
  whose: AttemptRef;
  signal: AbortSignal;
}

/**
 * Does the work of an attempt. A fault of what is around it goes into the journal, with the retry that follows.
 * Answers with the end of the run when there is none. Throws when the attempt was taken from this worker, and when the
 * journal cannot be written.
 */
export async function guardAttempt(
  worker: WorkerContext,
  { runId, repo, config, whose, signal }: Guarded,
  work: () => Promise<void>,
): Promise<{ stopReason: StopReason; detail: string } | undefined> {
  try {
    await work();
    return undefined;
  } catch (error) {
    const fault = toHaloError(asDiskError(worker.home, error));
    if (signal.aborted || fault.code === 'RUN_ABORTED') throw error;
    worker.log.error({ runId, code: fault.code, err: error }, 'a story could not be worked on');
    const stopReason = fault.stopReason ?? 'UNKNOWN_ERROR';
    const mended = await mendAfter(fault, { home: worker.home, repo });
    if (mended) worker.log.warn({ runId, mirror: repo.mirror }, 'a mirror was damaged and has been made again');
    const summary = `${withHint(fault)}${mended ? ' The mirror of the repository was damaged and has been made again.' : ''}`;
    return worker.store.transact(runId, (state) => {
      const open = state.stories.some(({ id, progress }) => id === whose.story && OPEN.includes(progress));
      if (state.status === 'ended' || !open) return { entries: [], result: undefined };
      const disturbed = { ...whose, stopReason, summary, cause: causeOf(fault) };
      const entries = judgeDisturbance(state, disturbed, { policies: config, now: worker.now() });
      const goesOn = entries.some(({ type }) => type === 'retry.scheduled');
      return { entries, result: goesOn ? undefined : { stopReason, detail: `${whose.story}: ${summary}` } };
    });
  }
}

const OPEN: readonly string[] = ['pending', 'in_progress', 'failed'];

/** What comes back by itself, unlike the rest of what is missing. */
const SERVERS: readonly ErrorCode[] = ['DOCKER_UNAVAILABLE', 'REDIS_UNAVAILABLE'];

/** What a repository looks like whose disk is away, or that somebody is moving or restoring: it was one at the submit. */
const REPOSITORIES: readonly ErrorCode[] = ['NOT_A_GIT_REPO', 'NO_COMMITS'];

const MISCONFIGURED: readonly (StopReason | undefined)[] = ['MISSING_DEPENDENCY', 'CANNOT_START', 'VALIDATION_FAILED'];

function causeOf(fault: HaloError): FailureCause | undefined {
  if (SERVERS.includes(fault.code)) return 'server-away';
  if (REPOSITORIES.includes(fault.code)) return 'repository-away';
  return isMisconfigured(fault) ? 'misconfigured' : undefined;
}

/** Whether trying again will not mend it. */
export function isMisconfigured({ stopReason }: HaloError): boolean {
  return MISCONFIGURED.includes(stopReason);
}
