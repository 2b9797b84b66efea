import { hiddenText } from './text/hidden-places.ts';
import type { StoryState } from './run-state.ts';
import { safeLine } from './safe-text.ts';
import { losesTests } from './test-report/test-report.ts';
import { testsText } from './transcript/story-lines.ts';

/** Something in a story's change that a person should know of before they take it over. */
export interface Finding {
  label: 'secret' | 'tests' | 'hidden';
  /** E.g. `k.txt adds a GitHub token`. Safe to print. */
  text: string;
}

const MOST_SUSPECTS = 5;

/** What the last attempt's change adds that looks like a secret, which tests it removes, and what it hides. */
export function findingsOf({ suspects = [], tests, hidden }: StoryState): Finding[] {
  const more = suspects.length - MOST_SUSPECTS;
  return [
    ...suspects.slice(0, MOST_SUSPECTS).map(({ path, names }): Finding => ({
      label: 'secret',
      text: `${safeLine(path)} adds ${safeLine(names.join(' and '))}`,
    })),
    ...(more > 0 ? [{ label: 'secret', text: `and ${more} more files` } as const] : []),
    ...(tests !== undefined && losesTests(tests) ? [{ label: 'tests', text: testsText(tests) } as const] : []),
    ...(hidden === undefined ? [] : [{ label: 'hidden', text: `adds ${hiddenText(hidden)}` } as const]),
  ];
}
