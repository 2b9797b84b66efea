import type { StopReason } from '../core/failure/stop-reason.ts';

/** What a person can do about an ending, a sentence or two. */
export const NEXT_STEPS: Record<StopReason, string> = {
  SUCCESS: 'Look at the commits with `halo diff`, then take them over with `halo land`.',
  NOTHING_RUNNABLE: 'Check the status of the stories in the PRD: all are done, skipped or blocked.',
  NEEDS_HUMAN:
    "Where a story waits for approval: `halo diff`, then `halo approve` or `halo reject`. Else read the agent's summary, answer its question in the story's text, and let the run go on with `halo resume <runId> --replan`.",
  APPROVAL_DENIED: 'Change the story so that it can be approved, and submit the PRD again.',
  MISSING_DEPENDENCY: 'Run `halo doctor`: it names what is missing and how to get it.',
  NOT_A_GIT_REPO: 'Give the path of a git repository, or make one with `git init` and a first commit.',
  DIRTY_WORKTREE: 'Commit or stash the changes in the repository, then submit again.',
  VALIDATION_FAILED: 'Mend the file at the place that the message names, then submit again.',
  CANNOT_START: 'Read the message: it names what stands in the way and how to remove it.',
  ENGINE_ERROR: "Read the end of the agent's output: often the model refused, a key is wrong or a network failed.",
  INVALID_OUTPUT:
    "Read the agent's last message. If it did the work but did not report it, make the story smaller or the acceptance clearer.",
  GATE_FAILED:
    "Read the gate's log, and run the same command in a clean clone to see whether the story or the gate is wrong.",
  POLICY_VIOLATION: 'Read which path or file was refused; tell the agent in the story to leave it alone.',
  TESTS_NOT_RED: 'Ask in the story for a test that fails without the change.',
  CONFLICT: 'Submit the PRD again on the new state of the branch.',
  TIMEOUT: 'Make the story smaller, or raise `limits.wall` or `limits.idle`.',
  OUT_OF_MEMORY: 'Raise `limits.memory`, or have the commands run fewer things at once.',
  BUDGET_EXCEEDED: 'Raise the budget, or make the story smaller.',
  CIRCUIT_OPEN:
    'Look at the failures that came before and mend their common cause; `halo breaker reset <runId>` lets the run go on.',
  ATTEMPTS_EXHAUSTED:
    'Read history.md: what failed each time? Make the story smaller or clearer, or raise `retry.attempts`.',
  PARTIAL: 'Look at what landed with `halo diff`; submit the remaining stories again.',
  USER_ABORT: 'Nothing is lost: what landed is on the branch of the run. `halo retry` goes on from there.',
  INFRASTRUCTURE: 'Run `halo doctor`, mend what it finds, then submit again.',
  UNKNOWN_ERROR: 'Please report it with this folder: it is a fault in halo.',
};
