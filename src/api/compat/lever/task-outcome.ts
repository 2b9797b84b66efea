import { exitCodeOf, type StopReason } from '../../../core/failure/stop-reason.ts';
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
}

export interface Judged {
  status: Progress['status'];
  exit: number;
}

const NO_RESULT = 10;
const TOO_OFTEN = 11;
const PARTIAL = 12;

/** Maps the end of a run to the status of the task and the exit code. */
export function judgeEnd({ stopReason, answered, runAttempts }: TaskEnd): Judged {
  if (stopReason === 'SUCCESS') return { status: 'completed', exit: 0 };
  if (stopReason === 'NEEDS_HUMAN') return { status: 'blocked', exit: exitCodeOf(stopReason) };
  const exit = exitCodeOf(stopReason);
  // Stopped by a person or an infrastructure failure, which reveals nothing about the task.
  if (exit < NO_RESULT || stopReason === 'USER_ABORT') return { status: 'started', exit };
  if (!answered) return { status: 'blocked', exit: NO_RESULT };
  if (runAttempts >= MAX_RUN_ATTEMPTS) return { status: 'blocked', exit: TOO_OFTEN };
  return { status: 'started', exit: PARTIAL };
}
