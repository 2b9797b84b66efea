import type { FeedbackComment } from '../review/feedback.ts';

/** As the journal keeps an address. */
export const MAX_URL = 500;

/** A comment of a review on a file, or on lines of it. */
export type ReviewComment = Pick<FeedbackComment, 'path' | 'side' | 'line' | 'endLine' | 'text'>;

/** A review of a pull request that asks for changes. */
export interface PullReview {
  /** Its address, which identifies it. */
  url: string;
  author: string;
  /** Whether the author may push to the project. Reviews of others are not used. */
  mayPush: boolean;
  /** May be empty. */
  text: string;
  /** The commit that it is about, if the forge knows it. */
  commit?: string;
  comments: ReviewComment[];
}

/** A check at a commit that failed: a job, a pipeline, a status of another service. */
export interface FailedCheck {
  name: string;
  /** Its page; may be empty. */
  url: string;
  /** What it says about the failure. */
  text: string;
}

/** The checks of others at a commit. */
export interface PullChecks {
  /** Some have no result yet. */
  isRunning: boolean;
  failed: FailedCheck[];
}

/** Feedback of a pull request for one story. */
export interface PlannedFeedback {
  storyId: string;
  source: 'review' | 'checks';
  author: string;
  url: string;
  text: string;
  comments: ReviewComment[];
  /** The commits that the lines of the comments are of, on the new and on the old side. */
  commit?: string;
  base?: string;
}
