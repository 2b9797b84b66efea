import type { StopReason } from '../../core/failure/stop-reason.ts';

/** What a user can do after a run or story ended with each stop reason, in one or two sentences. */
export const FAILURE_ADVICE: Record<StopReason, string> = {
  SUCCESS: 'Look at the commits with `halo diff`, then merge them with `halo land`.',
  NOTHING_RUNNABLE: 'Check the status of the stories in the PRD: all of them are done, skipped or blocked.',
  NEEDS_HUMAN:
    'If a story is waiting for approval, run `halo diff`, then `halo approve` or `halo reject`. Otherwise read the agent\'s question and answer it with `halo answer <runId> --story <id> "…"`, or change the story\'s text and continue with `halo resume <runId> --replan`.',
  APPROVAL_DENIED: 'Change the story so that it can be approved, and submit the PRD again.',
  MISSING_DEPENDENCY: 'Run `halo doctor`, which lists what is missing and how to install it.',
  NOT_A_GIT_REPO: 'Use the path of a git repository, or create one with `git init` and a first commit.',
  DIRTY_WORKTREE: 'Commit or stash the changes in the repository, then submit again.',
  VALIDATION_FAILED: 'Fix the file at the position in the message, then submit again.',
  CANNOT_START: 'Read the message, which names the obstacle and how to remove it.',
  ENGINE_ERROR: "Read the end of the agent's output. Often the model refused, a key is wrong or the network failed.",
  INVALID_OUTPUT:
    "Read the agent's last message. If it did the work but did not report it, make the story smaller or its acceptance criteria clearer.",
  GATE_FAILED:
    "Read the gate's log, and run the same command in a clean clone to see whether the story or the gate is wrong.",
  POLICY_VIOLATION: 'Read which path or file was refused, and state in the story that the agent must not change it.',
  TESTS_NOT_RED: 'Ask in the story for a test that fails without the change.',
  TESTS_MISSING: 'Word each acceptance criterion so that a test can check it.',
  CONFLICT: 'Submit the PRD again on the new state of the branch.',
  TIMEOUT: 'Make the story smaller, or raise `limits.wall` or `limits.idle`.',
  OUT_OF_MEMORY: 'Raise `limits.memory`, or let the commands run fewer processes in parallel.',
  BUDGET_EXCEEDED: 'Raise the budget, or make the story smaller.',
  CIRCUIT_OPEN:
    'Find and fix the common cause of the earlier failures, then continue the run with `halo breaker reset <runId>`.',
  ATTEMPTS_EXHAUSTED:
    'Read in history.md what failed each time. Make the story smaller or clearer, or raise `retry.attempts`.',
  PARTIAL: 'Look at what landed with `halo diff`; submit the remaining stories again.',
  USER_ABORT:
    'The landed commits are on the branch of the run. Continue with `halo run --resume <runId>`, or with `halo retry` if a worker is running.',
  INFRASTRUCTURE: 'Run `halo doctor`, fix what it reports, then submit again.',
  UNKNOWN_ERROR: 'Report it together with this folder: it is a bug in halo.',
};
