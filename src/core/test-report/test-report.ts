import { safeLine } from '../text/safe-text.ts';
import { LINE_LENGTH } from '../transcript/excerpt.ts';
import type { TestCase } from './formats/collect-tests.ts';

/** Changes to existing tests. Names are in the order of the earlier report. */
export interface TestChanges {
  before: number;
  after: number;
  removed: string[];
  /** Tests that ran before. */
  skipped: string[];
  /** Tests whose assertions are gone. */
  emptied: string[];
}

/** Whether existing tests were removed, skipped or emptied. */
export function hasLostTests({ removed, skipped, emptied }: TestChanges): boolean {
  return removed.length + skipped.length + emptied.length > 0;
}

/** Compares tests by name; of tests with the same name, none may be missing. */
export function compareTests(before: readonly TestCase[], after: readonly TestCase[]): TestChanges {
  const now = groupByName(after);
  const changes: TestChanges = { before: before.length, after: after.length, removed: [], skipped: [], emptied: [] };
  for (const [name, old] of groupByName(before)) {
    const left = now.get(name) ?? [];
    const ran = (tests: TestCase[]) => tests.filter(({ skipped }) => !skipped);
    const checked = (tests: TestCase[]) => ran(tests).filter(({ asserts }) => asserts !== undefined && asserts > 0);
    const empty = ran(left).filter(({ asserts }) => asserts === 0);
    if (left.length < old.length) changes.removed.push(name);
    else if (ran(left).length < ran(old).length) changes.skipped.push(name);
    else if (empty.length > 0 && checked(left).length < checked(old).length) changes.emptied.push(name);
  }
  return changes;
}

function groupByName(tests: readonly TestCase[]): Map<string, TestCase[]> {
  const groups = new Map<string, TestCase[]>();
  for (const test of tests) {
    const group = groups.get(test.name);
    if (group === undefined) groups.set(test.name, [test]);
    else group.push(test);
  }
  return groups;
}

/** Whether a text is a plain path relative to the repository that is safe in a shell script. */
export function isReportPath(path: string): boolean {
  return /^[\w.@ +-]+(?:\/[\w.@ +-]+)*$/.test(path) && !path.split('/').includes('..');
}

/** Describes test changes, e.g. `12 before, 11 after; removed: adds`. */
export function testsText({ before, after, removed, skipped, emptied }: TestChanges): string {
  const named = (what: string, names: string[]) =>
    names.length === 0 ? [] : [`${what}: ${safeLine(names.join(', '), LINE_LENGTH)}`];
  const parts = [...named('removed', removed), ...named('skipped', skipped), ...named('emptied', emptied)];
  return [`${before} before, ${after} after`, ...parts].join('; ');
}
