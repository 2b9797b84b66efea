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
  /** Why reports could not be read: the other fields are about those that were. */
  unread?: string[] | undefined;
}

/** What the gates of a commit report about their tests. */
export interface ReportedTests {
  /** Null if no report names tests. */
  tests: TestCase[] | null;
  /** Why reports could not be read, a clause each. */
  unread: string[];
}

/** Whether existing tests were removed, skipped or emptied. */
export function hasLostTests({ removed, skipped, emptied }: TestChanges): boolean {
  return removed.length + skipped.length + emptied.length > 0;
}

/**
 * Compares tests by name; of tests with the same name, none may be missing. Names that differ only in what varies between
 * runs are the same.
 */
export function compareTests(before: readonly TestCase[], after: readonly TestCase[]): TestChanges {
  const now = groupByName(after);
  const changes: TestChanges = { before: before.length, after: after.length, removed: [], skipped: [], emptied: [] };
  for (const [name, old] of groupByName(before)) {
    const left = now.get(name) ?? [];
    const ran = (tests: TestCase[]) => tests.filter(({ skipped }) => !skipped);
    const checked = (tests: TestCase[]) => ran(tests).filter(({ asserts }) => asserts !== undefined && asserts > 0);
    const empty = ran(left).filter(({ asserts }) => asserts === 0);
    if (left.length < old.length) changes.removed.push(nameOf(old, left));
    else if (ran(left).length < ran(old).length) changes.skipped.push(nameOf(ran(old), ran(left)));
    else if (empty.length > 0 && checked(left).length < checked(old).length)
      changes.emptied.push(nameOf(checked(old), checked(left)));
  }
  return changes;
}

/** The name of the first of these tests that is not among the others. */
function nameOf(tests: readonly TestCase[], others: readonly TestCase[]): string {
  const names = new Set(others.map(({ name }) => name));
  return (tests.find(({ name }) => !names.has(name)) ?? tests[0])?.name ?? '';
}

function groupByName(tests: readonly TestCase[]): Map<string, TestCase[]> {
  const groups = new Map<string, TestCase[]>();
  for (const test of tests) {
    const name = stableName(test.name);
    const group = groups.get(name);
    if (group === undefined) groups.set(name, [test]);
    else group.push(test);
  }
  return groups;
}

/** Parts of names that runners make from values: they differ between two runs of the same tests. */
const VARYING =
  /\b0x[\da-f]{6,16}\b|\b[\da-f]{8}-(?:[\da-f]{4}-){3}[\da-f]{12}\b|\b[\da-f]{32,64}\b|\b\d{4}-\d\d-\d\d(?:[T ]\d\d:\d\d(?::\d\d(?:[.,]\d+)?)?(?:Z|[+-]\d\d:?\d\d)?)?|\b\d\d:\d\d:\d\d(?:[.,]\d+)?|\b1\d{9}(?:\d{3}|\.\d+)?\b|\/(?:tmp|var\/folders|run|dev\/shm)\/[^\s'"\])>,;:]+|\(line \d+\)/gi;

/** A name without addresses, UUIDs, hashes, times, temporary paths and lines of documentation. */
function stableName(name: string): string {
  return name.replace(VARYING, '…');
}

/** Whether a text is a plain path relative to the repository that is safe in a shell script. */
export function isReportPath(path: string): boolean {
  return /^[\w.@ +-]+(?:\/[\w.@ +-]+)*$/.test(path) && !path.split('/').includes('..');
}

/** Describes test changes, e.g. `12 before, 11 after; removed: adds`. */
export function testsText(changes: TestChanges): string {
  const { before, after } = changes;
  const isUnknown = before === 0 && after === 0 && changes.unread !== undefined;
  const parts = changesText(changes);
  return isUnknown ? parts.join('; ') : [`${before} before, ${after} after`, ...parts].join('; ');
}

/** `removed: adds, sums`, and so on, a text for each kind of change. Safe to print. */
export function changesText({ removed, skipped, emptied, unread = [] }: TestChanges, length = LINE_LENGTH): string[] {
  const named = (what: string, names: string[], between = ', ') =>
    names.length === 0 ? [] : [`${what}: ${safeLine(names.join(between), length)}`];
  return [
    ...named('removed', removed),
    ...named('skipped', skipped),
    ...named('emptied', emptied),
    ...named('not read', unread, '; '),
  ];
}
