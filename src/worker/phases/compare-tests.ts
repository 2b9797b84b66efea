import { safeLine } from '../../core/safe-text.ts';
import type { TestCase } from '../../core/test-case.ts';
import { compareTests, type TestChanges } from '../../core/test-report/test-report.ts';
import type { Attempt } from '../attempt-context.ts';
import type { Baseline } from '../baseline.ts';
import { failed } from '../story-end.ts';

const NAMED_TESTS = 50;
const TOLD_TESTS = 5;

/**
 * Reports which tests of the base are removed, skipped or empty after the story, and ends the attempt for it where the
 * configuration says so.
 */
export async function reportTests(attempt: Attempt, after: TestCase[] | null, baseline: Baseline): Promise<void> {
  const before = (await (after === null ? baseline.ready() : baseline.evidence()))?.tests;
  if (before === undefined || before === null) return;
  const changes = compareTests(before, after ?? []);
  const lost = [...changes.removed, ...changes.skipped, ...changes.emptied].length;
  await attempt.report({ type: 'tests.compared', ...inShort(changes) });
  if (lost > 0 && attempt.config.tests.removed === 'block') {
    throw failed('GATE_FAILED', `tests that were there before are gone: ${tell(changes)}`);
  }
}

/** Names come from code that nobody trusts. */
function inShort(changes: TestChanges): TestChanges {
  const short = (names: string[]) => names.slice(0, NAMED_TESTS).map((name) => safeLine(name));
  return {
    ...changes,
    removed: short(changes.removed),
    skipped: short(changes.skipped),
    emptied: short(changes.emptied),
  };
}

function tell({ removed, skipped, emptied }: TestChanges): string {
  const groups: [string, string[]][] = [
    ['removed', removed],
    ['skipped', skipped],
    ['emptied', emptied],
  ];
  return groups
    .filter(([, names]) => names.length > 0)
    .map(([what, names]) => {
      const shown = names.slice(0, TOLD_TESTS).map((name) => safeLine(name, 80));
      const more = names.length > TOLD_TESTS ? ', …' : '';
      return `${names.length} ${what} (${shown.join(', ')}${more})`;
    })
    .join(', ');
}
