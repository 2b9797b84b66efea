import type { StopReason } from '../../core/failure/stop-reason.ts';

/** What a user can do after a run was refused before it started; nothing of it can be continued. */
export function adviceForRefusal(reason: StopReason): string {
  return ADVICE[reason] ?? 'Read the message, fix the cause, then start the run again.';
}

const ADVICE: Partial<Record<StopReason, string>> = {
  MISSING_DEPENDENCY: 'Run `halo doctor`, which lists what is missing and how to install it, then start the run again.',
  NOT_A_GIT_REPO: 'Use the path of a git repository, or create one with `git init` and a first commit.',
  DIRTY_WORKTREE:
    'Commit or stash the changes in the repository, or pass `--allow-dirty` to run without them, then start the run again.',
  VALIDATION_FAILED: 'Fix the file at the position in the message, then start the run again.',
  CANNOT_START: 'Read the message, which names the obstacle and how to remove it, then start the run again.',
  INFRASTRUCTURE: 'Run `halo doctor`, fix what it reports, then start the run again.',
  UNKNOWN_ERROR: 'Report it together with this folder: it is a bug in halo.',
};
