/** Why a run or a story ended. A closed list: exit codes are the process contract, meanings feed the docs. */
export const STOP_REASONS = {
  SUCCESS: { exit: 0, meaning: 'Every story has landed.' },
  NOTHING_RUNNABLE: { exit: 3, meaning: 'The PRD holds no story that could be started.' },
  NEEDS_HUMAN: { exit: 4, meaning: 'The agent asked for a person, or a rule does.' },
  APPROVAL_DENIED: { exit: 4, meaning: 'A person refused to let the story go on.' },
  MISSING_DEPENDENCY: { exit: 5, meaning: 'Docker, Redis, git, an image, an agent or a model key is missing.' },
  NOT_A_GIT_REPO: { exit: 6, meaning: 'The path is not a git repository.' },
  DIRTY_WORKTREE: { exit: 6, meaning: 'The repository has uncommitted changes.' },
  VALIDATION_FAILED: { exit: 6, meaning: 'The PRD or the configuration breaks a rule.' },
  CANNOT_START: { exit: 6, meaning: 'The run could not be started or landed as things stand.' },
  ENGINE_ERROR: { exit: 10, meaning: 'The agent program failed.' },
  INVALID_OUTPUT: {
    exit: 10,
    meaning: 'The agent ended without a valid result, or claimed a result that is not there.',
  },
  GATE_FAILED: { exit: 10, meaning: 'A gate or a setup command did not exit 0.' },
  POLICY_VIOLATION: { exit: 10, meaning: 'What the agent left behind may not enter the repository.' },
  TESTS_NOT_RED: { exit: 10, meaning: 'New tests passed before the change that they test.' },
  CONFLICT: { exit: 10, meaning: 'The branch moved and the change does not fit on it.' },
  TIMEOUT: { exit: 10, meaning: 'A limit of time was reached, in all or without output.' },
  OUT_OF_MEMORY: { exit: 10, meaning: 'The sandbox reached its memory limit.' },
  BUDGET_EXCEEDED: { exit: 10, meaning: 'The budget of money or tokens is used up.' },
  CIRCUIT_OPEN: { exit: 10, meaning: 'Too many failures of one kind; halo stopped trying.' },
  ATTEMPTS_EXHAUSTED: { exit: 11, meaning: 'A story failed in each of its attempts.' },
  PARTIAL: { exit: 12, meaning: 'Some stories landed, some did not.' },
  USER_ABORT: { exit: 130, meaning: 'A person stopped the run.' },
  INFRASTRUCTURE: { exit: 1, meaning: 'Docker, Redis, git or the disk failed, and trying again did not help.' },
  UNKNOWN_ERROR: { exit: 1, meaning: 'A fault in halo itself; please report it.' },
} as const;

export type StopReason = keyof typeof STOP_REASONS;

/** The exit code of wrong usage: no stop reason, because nothing was started. */
export const USAGE_EXIT = 2;

/** The process exit code that stands for a stop reason. */
export function exitCodeOf(reason: StopReason): number {
  return STOP_REASONS[reason].exit;
}
