import type { AgentReview } from '../../core/review/agent-review.ts';
import type { Measurements } from './attempt-outcome.ts';
import type { Attempt } from './open-attempt.ts';
import type { Work } from './work.ts';

/** Has another agent review changes that passed their gates. */
export interface Reviewing {
  /** Called before the gates run, so that the reviewer can be prepared meanwhile. Undefined: there is no review. */
  open(attempt: Attempt, work: Work): OpenReview | undefined;
}

export interface OpenReview {
  /**
   * The review of work that passed its gates; undefined if it needs none. A reviewer that fails is part of the result. Throws
   * faults of the worker or its environment.
   */
  judge(work: Work, measured: Measurements): Promise<AgentReview | undefined>;
}

export const NO_REVIEWING: Reviewing = { open: () => undefined };
