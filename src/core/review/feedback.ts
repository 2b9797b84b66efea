/** How often the commit of one story can be sent back with feedback. */
export const MAX_FEEDBACK_ROUNDS = 10;

/** A comment on a file of the reviewed commit, or on lines of it. */
export interface FeedbackComment {
  path: string;
  /** `old`: the file as it was before the commit. */
  side: 'new' | 'old';
  /** The first and the last line, from 1; absent: the whole file. */
  line?: number;
  endLine?: number;
  /** The lines, as halo read them from the commit. */
  quote?: string;
  text: string;
}

/** What a person wants changed in the commit of an attempt. */
export interface Feedback {
  attempt: number;
  commit: string;
  /** May be empty if there are comments. */
  text: string;
  comments: FeedbackComment[];
  by: string;
  /**
   * From a pull request: a review by `author` at `url`, or its failing checks; `reviewer`: from the agent `author`, which
   * reviewed the change before it landed.
   */
  source?: 'review' | 'checks' | 'reviewer';
  author?: string;
  url?: string;
}

/** The work of an earlier attempt, with which the next one continues. */
export interface KeptWork {
  /** A commit on the base of that attempt; it is not on the branch of the run. */
  commit: string;
  attempt: number;
}
