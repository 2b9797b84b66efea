import { collectTests, type Tests } from '../test-formats/collect.ts';
import { readJestJson } from './formats/jest-json.ts';
import { readJunit } from './formats/junit.ts';
import { readPytest } from './formats/pytest.ts';
import { readSpec } from './formats/node-spec.ts';
import { readTap } from './formats/tap.ts';
import type { TestCase } from '../test-case.ts';

/** What became of the tests that were there before. Names are in the order of the earlier report. */
export interface TestChanges {
  before: number;
  after: number;
  removed: string[];
  /** They ran before. */
  skipped: string[];
  /** They checked something before, and nothing now. */
  emptied: string[];
}

/** Whether tests that were there are gone, no longer run, or check nothing. */
export function losesTests({ removed, skipped, emptied }: TestChanges): boolean {
  return removed.length + skipped.length + emptied.length > 0;
}

const READERS = [readJunit, readJestJson, readTap, readPytest, readSpec];

/**
 * The tests that a report names, be it a report file or the output of a gate: JUnit XML, the JSON of jest and vitest,
 * TAP, pytest (`-v` or `-rA`), or what node:test prints for people. They are added to `tests`, whose limits are those of
 * all reports together. Undefined when the text is none of these.
 */
export function readTests(text: string, tests: Tests = collectTests()): TestCase[] | undefined {
  return READERS.some((read) => read(text, tests)) ? tests.found : undefined;
}

/** Compares by name; of several tests of one name as many must still be there. */
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
