import { exitCodeOf, type StopReason } from '../../../core/failure/stop-reason.ts';
import type { FailureCause, FailureClass } from '../../../core/failure/failure.ts';
import type { StoryState } from '../../../core/run/state.ts';
import type { Progress } from './tasks-file.ts';

/** Runs after which a task that is not completed counts as blocked. */
export const MAX_RUN_ATTEMPTS = 3;

/** How a run of one task ended. */
interface TaskEnd {
  stopReason: StopReason;
  /** The agent gave a valid answer. */
  answered: boolean;
  /** Runs of the task, including this one. */
  runAttempts: number;
  /** What the failure of the only story was, if it failed. */
  failure?: Pick<NonNullable<StoryState['lastFailure']>, 'class' | 'cause'> | undefined;
}

export interface Judged {
  status: Progress['status'];
  exit: number;
  /** The run reveals nothing about the task, and does not count as one of its runs. */
  uncounted?: true;
}

const NO_RESULT = 10;
const TOO_OFTEN = 11;
const PARTIAL = 12;

/** Maps the end of a run to the status of the task and the exit code. */
export function judgeEnd({ stopReason, answered, runAttempts, failure }: TaskEnd): Judged {
  if (stopReason === 'SUCCESS') return { status: 'completed', exit: 0 };
  if (stopReason === 'NEEDS_HUMAN') return { status: 'blocked', exit: exitCodeOf(stopReason) };
  const exit = exitCodeOf(stopReason);
  if (stopReason === 'USER_ABORT') return { status: 'started', exit };
  if (exit < NO_RESULT) return { status: 'started', exit, uncounted: true };
  // Another run would fail in the same way, until a person has repaired the machine or the repository.
  if (failure !== undefined && FOREIGN.has(failure.class))
    return { status: 'started', exit: exitOfCause(failure.cause), uncounted: true };
  if (!answered) return { status: 'blocked', exit: NO_RESULT };
  if (runAttempts >= MAX_RUN_ATTEMPTS) return { status: 'blocked', exit: TOO_OFTEN };
  return { status: 'started', exit: PARTIAL };
}

/** Classes of failures that the task does not cause. */
const FOREIGN: ReadonlySet<FailureClass> = new Set(['environment', 'infrastructure', 'provider']);

function exitOfCause(cause: FailureCause | undefined): number {
  if (cause === 'program-missing' || cause === 'network-missing') return exitCodeOf('MISSING_DEPENDENCY');
  return exitCodeOf(cause === 'base-broken' ? 'CANNOT_START' : 'INFRASTRUCTURE');
}
