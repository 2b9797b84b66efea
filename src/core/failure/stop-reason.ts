/** Why a run or a story ended. A closed list: exit codes are the process contract, meanings feed the docs. */
export const STOP_REASONS = {
  SUCCESS: { exit: 0, meaning: 'Every story has passed.' },
  NOTHING_RUNNABLE: { exit: 3, meaning: 'The PRD contains no story that can start.' },
  NEEDS_HUMAN: { exit: 4, meaning: 'A story cannot continue before a person answers, approves or decides.' },
  APPROVAL_DENIED: { exit: 4, meaning: 'A user rejected the story or the run.' },
  MISSING_DEPENDENCY: { exit: 5, meaning: 'Docker, Redis, git, an image, an agent or a model key is missing.' },
  NOT_A_GIT_REPO: { exit: 6, meaning: 'The path is not a git repository.' },
  DIRTY_WORKTREE: { exit: 6, meaning: 'The repository has uncommitted changes.' },
  VALIDATION_FAILED: { exit: 6, meaning: 'The PRD or the configuration breaks a rule.' },
  CANNOT_START: { exit: 6, meaning: 'The run cannot be started or landed in the current state.' },
  ENGINE_ERROR: { exit: 10, meaning: 'The agent program failed.' },
  INVALID_OUTPUT: {
    exit: 10,
    meaning: 'The agent ended without a valid result, or reported a result that does not exist.',
  },
  GATE_FAILED: { exit: 10, meaning: 'A gate or a setup command did not exit 0.' },
  POLICY_VIOLATION: { exit: 10, meaning: 'The changes of the agent may not enter the repository.' },
  TESTS_NOT_RED: { exit: 10, meaning: 'New tests passed before the change that they test.' },
  TESTS_MISSING: { exit: 10, meaning: 'A story has no tests, or too few, that fail before its change.' },
  CONFLICT: { exit: 10, meaning: 'The branch moved and the change conflicts with it.' },
  TIMEOUT: { exit: 10, meaning: 'The wall time or idle time limit was reached.' },
  OUT_OF_MEMORY: { exit: 10, meaning: 'The sandbox reached its memory limit.' },
  BUDGET_EXCEEDED: { exit: 10, meaning: 'The budget of money or tokens is used up.' },
  CIRCUIT_OPEN: { exit: 10, meaning: 'Too many failures of one kind; the circuit breaker is open.' },
  ATTEMPTS_EXHAUSTED: { exit: 11, meaning: 'A story failed in each of its attempts.' },
  PARTIAL: { exit: 12, meaning: 'Some stories passed, some did not.' },
  USER_ABORT: { exit: 130, meaning: 'A user stopped the run.' },
  INFRASTRUCTURE: { exit: 1, meaning: 'Docker, Redis, git or the disk failed, and retries did not help.' },
  UNKNOWN_ERROR: { exit: 1, meaning: 'A bug in halo.' },
} as const;

export type StopReason = keyof typeof STOP_REASONS;

/** The exit code of wrong usage, which has no stop reason because nothing was started. */
export const USAGE_EXIT = 2;

/** The process exit code of a stop reason. */
export function exitCodeOf(reason: StopReason): number {
  return STOP_REASONS[reason].exit;
}
