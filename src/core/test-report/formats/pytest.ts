import { failedIf, shortLines, type CollectedTests, type TestCase } from './collect-tests.ts';

const HEADER = /^=+ test session starts =+$/m;
/** The look-ahead keeps matching linear for lines with many `.py::`. */
const NAME = String.raw`(?=\S+\.py::.)(.+?)`;
/** `-v`: the test, then its outcome. */
const VERBOSE = new RegExp(String.raw`^${NAME} (PASSED|FAILED|SKIPPED|ERROR|XFAIL|XPASS)\b`);
/** `-rA`: the outcome, then the test. Skipped tests have only a place. */
const SUMMARY = new RegExp(String.raw`^(PASSED|FAILED|ERROR|XFAIL|XPASS) ${NAME}(?: - .*)?$`);
const FAILED = ['FAILED', 'ERROR'];
/** The result of a test that is marked as an expected failure does not count, whatever it is: the test cannot fail. */
const NOT_COUNTED = ['SKIPPED', 'XFAIL', 'XPASS'];
const SKIPPED = /^SKIPPED \[\d+\] (\S+\.py:\d+)/;

/** Reads the output of pytest with `-v` or `-rA`; without either it does not name tests. */
export function readPytest(text: string, tests: CollectedTests): boolean {
  if (!HEADER.test(text)) return false;
  const before = tests.found.length;
  for (const line of shortLines(text)) {
    if (tests.isFull()) break;
    const [, name, outcome = ''] = VERBOSE.exec(line) ?? [];
    if (name !== undefined) tests.add([name], factsOf(outcome));
  }
  if (tests.found.length > before) return true;
  for (const line of shortLines(text)) {
    if (tests.isFull()) break;
    const [, outcome = '', name] = SUMMARY.exec(line) ?? [];
    const place = name === undefined ? SKIPPED.exec(line)?.[1] : undefined;
    if (name !== undefined) tests.add([name], factsOf(outcome));
    else if (place !== undefined) tests.add([place], { skipped: true });
  }
  return true;
}

function factsOf(outcome: string): Pick<TestCase, 'skipped' | 'failed'> {
  return { skipped: NOT_COUNTED.includes(outcome), ...failedIf(FAILED.includes(outcome)) };
}
