import type { Feedback } from '../review/feedback.ts';
import type { RunState, StoryState } from './state.ts';

/** The commit of a story that feedback can be about: held for approval, or on the branch of the run. */
export function commitToReview({ held, progress, commit }: StoryState): string | undefined {
  return held?.commit ?? (progress === 'passed' ? commit : undefined);
}

/** The feedback that the next or the running attempt at a story works on. */
export function openFeedback({ feedback = [], progress }: StoryState): Feedback | undefined {
  return progress === 'pending' || progress === 'in_progress' ? feedback.at(-1) : undefined;
}

/** Whether a run can continue with feedback, as far as the run itself decides. */
export function isReviewable({ dry, scratch, task, landed }: RunState): boolean {
  return dry === undefined && scratch === undefined && task === undefined && landed === undefined;
}
