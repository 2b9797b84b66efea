import { readAva } from './ava.ts';
import { collectTests, type TestCase, type CollectedTests } from './collect-tests.ts';
import { readCargoTest } from './cargo-test.ts';
import { readGoJson, readGoTest } from './go-test.ts';
import { readJestJson } from './jest-json.ts';
import { readJestVerbose } from './jest-verbose.ts';
import { readJunit } from './junit.ts';
import { readLines } from './line-reader.ts';
import { readMocha } from './mocha.ts';
import { readNodeSpec } from './node-spec.ts';
import { otherRunners } from './other-runners.ts';
import { readPytest } from './pytest.ts';
import { readRspec } from './rspec.ts';
import { readTap } from './tap.ts';
import { readUnittest } from './unittest.ts';
import { readVitestVerbose } from './vitest-verbose.ts';

/** What runners print for people. */
const RUNNERS = [readPytest, readUnittest, readGoTest, readCargoTest, readMocha, readNodeSpec, readAva, readRspec];
/** Those that print beside their JSON. */
const WITH_JSON = [readJestVerbose, readVitestVerbose];

/**
 * Reads the tests of all reports in a report file or the output of a gate, in the formats that docs/proof.md lists. Adds
 * them to `tests`, whose limits apply to all reports together, and notes what could not be read. Undefined if there is no
 * report.
 */
export function readTests(text: string, tests: CollectedTests = collectTests()): TestCase[] | undefined {
  const written = (read: typeof readJunit): boolean => {
    const before = tests.found.length;
    const isReport = read(text, tests);
    tests.write(tests.found.length - before);
    return isReport;
  };
  const isJunit = written(readJunit);
  const isJson = written(readJestJson);
  const isGo = written(readGoJson);
  const isTap = readTap(text, tests);
  const runners = [...RUNNERS, ...(isJson ? [] : WITH_JSON)].map((open) => open());
  const isPrinted = readLines(text, [...runners, ...otherRunners()], tests);
  return isJunit || isJson || isGo || isTap || isPrinted ? tests.found : undefined;
}
