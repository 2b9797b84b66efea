import { collectTests, type TestCase, type CollectedTests } from './collect-tests.ts';
import { readJestJson } from './jest-json.ts';
import { readJunit } from './junit.ts';
import { readNodeSpec } from './node-spec.ts';
import { readPytest } from './pytest.ts';
import { readTap } from './tap.ts';

const READERS = [readJunit, readJestJson, readTap, readPytest, readNodeSpec];

/**
 * Reads the tests in a report file or the output of a gate: JUnit XML, the JSON of jest and vitest, TAP, pytest (`-v` or
 * `-rA`), or the spec reporter of node:test. Adds them to `tests`, whose limits apply to all reports together. Undefined
 * for any other format.
 */
export function readTests(text: string, tests: CollectedTests = collectTests()): TestCase[] | undefined {
  return READERS.some((read) => read(text, tests)) ? tests.found : undefined;
}
