import { plainReason } from '../core/failure/plain-reason.ts';
import { openFeedback } from '../core/run/reviewed-story.ts';
import {
  describeUnmetDependencies,
  isSelected,
  isUnchanged,
  type RunState,
  type StoryProgress,
  type StoryState,
  type Waiting,
} from '../core/run/state.ts';
import { safeLine } from '../core/text/safe-text.ts';
import type { Tone } from '../core/transcript/transcript-line.ts';

export const PROGRESS_TONES: Record<StoryProgress, Tone> = {
  pending: 'quiet',
  in_progress: 'strong',
  passed: 'good',
  failed: 'bad',
  needs_human: 'warn',
  done: 'quiet',
  skipped: 'quiet',
  cancelled: 'warn',
};

/** Whether a story is neither running nor ended, but will be retried later. */
export function isRetrying({ progress, waiting }: StoryState, { status }: RunState): boolean {
  return status !== 'ended' && waiting !== undefined && ['pending', 'failed', 'in_progress'].includes(progress);
}

/** Whether a wait is the delay of a retry, and not for a breaker or a pause of the model. */
export function isForRetry({ breaker, model }: Waiting): boolean {
  return breaker === undefined && model === undefined;
}

/** The progress of a story, in a few words. */
export function storyProgressText(story: StoryState, run: RunState): string {
  switch (story.progress) {
    case 'in_progress':
      if (run.status === 'ended') return 'interrupted';
      if (story.waiting?.model !== undefined) return 'waiting';
      return story.phase ?? (run.paused?.now === true ? 'interrupted' : 'starting');
    case 'failed':
      if (story.waiting !== undefined) return isForRetry(story.waiting) ? 'retrying' : 'waiting';
      return `failed: ${plainReason(story.stopReason ?? 'UNKNOWN_ERROR', story.lastFailure)}`;
    case 'needs_human':
      return story.held === undefined ? 'needs a human' : 'waiting for approval';
    case 'done':
      return 'done before';
    case 'pending':
      if (story.waiting?.model !== undefined && run.status !== 'ended') return 'waiting';
      if (story.approved !== undefined) return 'approved, not landed';
      if (openFeedback(story) !== undefined && run.status !== 'ended') return 'sent back';
      return safeLine(describeUnmetDependencies(story, run) ?? 'pending', 32);
    case 'passed':
      if (run.dry) return run.planning ? 'planned' : 'described';
      return isUnchanged(story) ? 'no change needed' : story.progress;
    case 'skipped':
      return isSelected(story, run) ? story.progress : 'not selected';
    case 'cancelled':
      return story.progress;
  }
}
