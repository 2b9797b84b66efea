import { describeBinaryFiles, describeIgnored, describeLargeFiles, describeLockFiles } from '../noted-files.ts';
import type { StoryFindings } from '../run/state.ts';
import { hasLostTests, testsText } from '../test-report/test-report.ts';
import { describeHidden, formatPlaces } from '../text/hidden-places.ts';
import { safeLine } from '../text/safe-text.ts';
import { blockingOf, describeReview, findingText, isFinding, reviewerName, type AgentReview } from './agent-review.ts';
import { describeHolding, describeTestProblem } from './tests-first.ts';

/** Something in a story's change that a user should know before landing it. */
export interface StoryFinding {
  kind: 'secret' | 'tests' | 'review' | 'unproven' | 'hidden' | 'protected' | 'binary' | 'large' | 'ignored' | 'locks';
  /** E.g. `k.txt adds a GitHub token`. Safe to print. */
  text: string;
}

const MAX_SUSPECTS = 5;

/** Finds possible secrets, hidden characters, protected, binary and large files, lost tests and lock files in a change. */
export function findStoryFindings({
  suspects = [],
  tests,
  hidden,
  guarded = [],
  binary = [],
  large = [],
  ignored = [],
  locks = [],
  testProblems = [],
  locked,
  reviewed,
}: StoryFindings): StoryFinding[] {
  const { holding = [] } = locked ?? {};
  const more = suspects.length - MAX_SUSPECTS;
  return [
    ...suspects.slice(0, MAX_SUSPECTS).map(({ path, names }): StoryFinding => ({
      kind: 'secret',
      text: `${safeLine(path)} adds ${safeLine(names.join(' and '))}`,
    })),
    ...(more > 0 ? [{ kind: 'secret', text: `and ${more} more files` } as const] : []),
    ...(tests !== undefined && hasLostTests(tests) ? [{ kind: 'tests', text: testsText(tests) } as const] : []),
    ...(tests?.unread === undefined || hasLostTests(tests)
      ? []
      : [{ kind: 'unproven', text: `tests: ${testsText(tests)}` } as const]),
    ...testProblems.map((problem): StoryFinding => ({
      kind: 'unproven',
      text: `tests first, ${describeTestProblem(problem)}`,
    })),
    ...(holding.length === 0 ? [] : [{ kind: 'unproven', text: describeHolding(holding) } as const]),
    ...(reviewed === undefined || !isFinding(reviewed)
      ? []
      : [{ kind: 'review', text: reviewText(reviewed) } as const]),
    ...(hidden === undefined ? [] : [{ kind: 'hidden', text: `adds ${describeHidden(hidden)}` } as const]),
    ...(guarded.length === 0
      ? []
      : [{ kind: 'protected', text: `changes protected paths: ${formatPlaces(guarded)}` } as const]),
    ...(binary.length === 0 ? [] : [{ kind: 'binary', text: describeBinaryFiles(binary) } as const]),
    ...(large.length === 0 ? [] : [{ kind: 'large', text: describeLargeFiles(large) } as const]),
    ...(ignored.length === 0 ? [] : [{ kind: 'ignored', text: describeIgnored(ignored) } as const]),
    ...(locks.length === 0 ? [] : [{ kind: 'locks', text: describeLockFiles(locks) } as const]),
  ];
}

/** The review of an agent, with its first blocking finding. */
function reviewText(review: AgentReview): string {
  const [first] = blockingOf(review);
  const example = first === undefined ? '' : `, such as ${safeLine(findingText(first), 300)}`;
  return `${reviewerName(review)} reviewed it: ${describeReview(review)}${example}`;
}
