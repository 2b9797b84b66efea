import { isTestPath } from '../../../core/review/review.ts';
import type { StoryState } from '../../../core/run/state.ts';
import { hasLostTests } from '../../../core/test-report/test-report.ts';

/** More changed files than a person reads at a glance. */
const MANY_FILES = 20;

/** What is known about a change before its review. */
export interface ChangeFacts {
  /** The changed files. */
  paths: readonly string[];
  /** Those of them that are protected. */
  guarded: readonly string[];
  story: Pick<StoryState, 'suspects' | 'hidden' | 'binary' | 'locks' | 'tests' | 'testProblems' | 'locked'>;
}

/** Whether a change is to be reviewed with `review.when = "risky"`. */
export function isRisky({ paths, guarded, story }: ChangeFacts): boolean {
  const { suspects = [], hidden, binary = [], locks = [], tests, testProblems = [], locked } = story;
  const isUntested = locked === undefined && !paths.some(isTestPath);
  return (
    paths.length > MANY_FILES ||
    [guarded, suspects, binary, locks, testProblems].some(({ length }) => length > 0) ||
    hidden !== undefined ||
    (tests !== undefined && hasLostTests(tests)) ||
    isUntested
  );
}

/** Whether the PRD asks for a review of a story: by `"review": true`. */
export function asksForReview({ extra }: { extra: Record<string, unknown> }): boolean {
  const value = Object.entries(extra).find(([key]) => key.length < 40 && key.trim().toLowerCase() === 'review')?.[1];
  const word = typeof value === 'string' ? value.trim().toLowerCase() : value;
  return word === true || word === 'true' || word === 'yes' || word === 'on';
}
