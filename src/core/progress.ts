import type { StoryProgress } from './run-state.ts';

interface Progressing {
  progress: StoryProgress;
}

/** Whether a story is done: by its run, or before it. */
export function isDone({ progress }: Progressing): boolean {
  return progress === 'passed' || progress === 'done';
}

/** Whether a story passed without a commit: the repository fulfilled it already. */
export function isUnchanged({ progress, commit }: Progressing & { commit?: string }): boolean {
  return progress === 'passed' && commit === undefined;
}

/** Whether nothing of a story is left to do. */
export function isFinished(story: Progressing): boolean {
  return isDone(story) || story.progress === 'skipped';
}
