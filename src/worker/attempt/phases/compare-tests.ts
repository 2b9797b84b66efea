import { safeLine } from '../../../core/text/safe-text.ts';
import type { TestCase } from '../../../core/test-report/formats/collect-tests.ts';
import { compareTests, type TestChanges } from '../../../core/test-report/test-report.ts';
import type { Attempt } from '../open-attempt.ts';
import type { Baseline } from '../baseline.ts';
import { attemptFailed } from '../attempt-outcome.ts';

const MAX_NAMED_TESTS = 50;
const MAX_SHOWN_TESTS = 5;

/**
 * Reports which tests of the base are removed, skipped or empty after the story. Ends the attempt if there are any and
 * `tests.removed` is "block".
 */
export async function reportTestChanges(attempt: Attempt, after: TestCase[] | null, baseline: Baseline): Promise<void> {
  const before = (await (after === null ? baseline.startedResults() : baseline.results()))?.tests;
  if (before === undefined || before === null) return;
  const changes = compareTests(before, after ?? []);
  const lost = [...changes.removed, ...changes.skipped, ...changes.emptied].length;
  await attempt.journal.report({ type: 'tests.compared', ...limitNames(changes) });
  if (lost > 0 && attempt.config.tests.removed === 'block') {
    throw attemptFailed('GATE_FAILED', `tests that were there before are gone: ${describeLost(changes)}`);
  }
}

/** Test names come from untrusted code. */
function limitNames(changes: TestChanges): TestChanges {
  const short = (names: string[]) => names.slice(0, MAX_NAMED_TESTS).map((name) => safeLine(name));
  return {
    ...changes,
    removed: short(changes.removed),
    skipped: short(changes.skipped),
    emptied: short(changes.emptied),
  };
}

function describeLost({ removed, skipped, emptied }: TestChanges): string {
  const groups: [string, string[]][] = [
    ['removed', removed],
    ['skipped', skipped],
    ['emptied', emptied],
  ];
  return groups
    .filter(([, names]) => names.length > 0)
    .map(([what, names]) => {
      const shown = names.slice(0, MAX_SHOWN_TESTS).map((name) => safeLine(name, 80));
      const more = names.length > MAX_SHOWN_TESTS ? ', …' : '';
      return `${names.length} ${what} (${shown.join(', ')}${more})`;
    })
    .join(', ');
}
