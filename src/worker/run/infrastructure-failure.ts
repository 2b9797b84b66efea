import { toHaloError, withHint, type ErrorCode, type HaloError } from '../../core/failure/errors.ts';
import type { AttemptRef } from '../../core/journal/event-parts.ts';
import type { RunRepo } from '../../core/journal/run-created.ts';
import type { FailureCause } from '../../core/failure/failure.ts';
import { judgeInterruption } from '../../core/failure/judge-failure.ts';
import type { StopReason } from '../../core/failure/stop-reason.ts';
import type { RunEnd } from '../../core/run/plan.ts';
import { startsAlone } from '../../core/run/state.ts';
import { toDiskError } from '../../store/disk-errors.ts';
import type { RunInputs } from './read-run.ts';
import { hasOtherEngine } from './run-ownership.ts';
import { repairMirrorAfter } from '../repository/with-intact-mirror.ts';
import type { WorkerContext } from '../worker-context.ts';

interface GuardedAttempt extends Pick<RunInputs, 'runId' | 'config'> {
  repo: RunRepo;
  attemptRef: AttemptRef;
  /** The latest epoch of the story, before the attempt. */
  epoch: number | undefined;
  signal: AbortSignal;
}

/** Calls `started` with the epoch of the attempt once it has started. */
export type AttemptWork = (started: (epoch: number) => void) => Promise<void>;

/**
 * Runs an attempt and records infrastructure failures, with the retry that follows. Returns the end of the run if there is
 * no retry. Records nothing if another worker has started the story in the meantime. Throws if the attempt was taken from
 * this worker, or if the journal cannot be written.
 */
export async function guardAttempt(
  worker: WorkerContext,
  { runId, repo, config, attemptRef, signal, ...before }: GuardedAttempt,
  work: AttemptWork,
): Promise<RunEnd | undefined> {
  let { epoch } = before;
  try {
    await work((started) => (epoch = started));
    return undefined;
  } catch (error) {
    const fault = toHaloError(toDiskError(worker.home, error));
    if (signal.aborted || fault.code === 'RUN_ABORTED') throw error;
    worker.log.error({ runId, code: fault.code, err: error }, 'attempt failed: infrastructure');
    const stopReason = fault.stopReason ?? 'UNKNOWN_ERROR';
    const repaired = await repairMirrorAfter(fault, { home: worker.home, repo });
    if (repaired) worker.log.warn({ runId, mirror: repo.mirror }, 'damaged mirror rebuilt');
    const summary = `${withHint(fault)}${repaired ? ' The mirror of the repository was damaged and has been rebuilt.' : ''}`;
    const isElsewhere = fault.code === 'IMAGE_MISSING' && (await hasOtherEngine(worker, runId).catch(() => false));
    const cause = isElsewhere ? 'server-away' : causeOf(fault);
    const record = worker.store.transact(runId, (state) => {
      const story = state.stories.find(({ id }) => id === attemptRef.story);
      const isOwn = story !== undefined && startsAlone(story) && story.epoch === epoch;
      if (state.status === 'ended' || !isOwn) return { entries: [], result: undefined };
      const disturbed = { ...attemptRef, stopReason, summary, cause };
      const entries = judgeInterruption(state, disturbed, { policies: config, now: worker.now() });
      const retries = entries.some(({ type }) => type === 'retry.scheduled');
      const detail = `${story.id}: ${summary}`;
      return { entries, result: retries ? undefined : { stopReason, detail, story: story.id } };
    });
    return record.catch((refusal: unknown) => {
      worker.unrecorded.set(attemptKey(runId, attemptRef), fault);
      throw refusal;
    });
  }
}

/** The key of an attempt among those of all runs. */
export function attemptKey(runId: string, { story, attempt }: AttemptRef): string {
  return JSON.stringify([runId, story, attempt]);
}

/** Services that usually come back without a change of settings. */
const SERVERS: readonly ErrorCode[] = ['DOCKER_UNAVAILABLE', 'REDIS_UNAVAILABLE'];

/** Errors of a repository whose disk is away or that is being moved or restored; it was valid at submit. */
const REPOSITORIES: readonly ErrorCode[] = ['NOT_A_GIT_REPO', 'NO_COMMITS'];

const MISCONFIGURED: readonly (StopReason | undefined)[] = ['MISSING_DEPENDENCY', 'CANNOT_START', 'VALIDATION_FAILED'];

/** The cause that an error of the environment means for retries. */
export function causeOf(fault: Pick<HaloError, 'code' | 'stopReason'>): FailureCause | undefined {
  if (SERVERS.includes(fault.code)) return 'server-away';
  if (REPOSITORIES.includes(fault.code)) return 'repository-away';
  return isMisconfigured(fault) ? 'misconfigured' : undefined;
}

/** Whether a retry cannot help. */
export function isMisconfigured({ stopReason }: Pick<HaloError, 'stopReason'>): boolean {
  return MISCONFIGURED.includes(stopReason);
}
