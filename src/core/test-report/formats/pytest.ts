import type { Tests } from '../../test-formats/collect.ts';
import { shortLines } from '../../test-formats/short-lines.ts';

const HEADER = /^=+ test session starts =+$/m;
/** In a look-ahead, so that a line with many `.py::` is gone through once. */
const NAME = String.raw`(?=\S+\.py::.)(.+?)`;
/** `-v`: the test and then its outcome. */
const VERBOSE = new RegExp(String.raw`^${NAME} (PASSED|FAILED|SKIPPED|ERROR|XFAIL|XPASS)\b`);
/** `-rA`: the outcome and then the test. A skipped one is named by its place only. */
const SUMMARY = new RegExp(String.raw`^(PASSED|FAILED|ERROR|XFAIL|XPASS) ${NAME}(?: - .*)?$`);
const SKIPPED = /^SKIPPED \[\d+\] (\S+\.py:\d+)/;

/** The output of pytest with `-v` or `-rA`; without either it names no tests. */
export function readPytest(text: string, tests: Tests): boolean {
  if (!HEADER.test(text)) return false;
  const before = tests.found.length;
  for (const line of shortLines(text)) {
    if (tests.isFull()) break;
    const [, name, outcome] = VERBOSE.exec(line) ?? [];
    if (name !== undefined) tests.add([name], { skipped: outcome === 'SKIPPED' });
  }
  if (tests.found.length > before) return true;
  for (const line of shortLines(text)) {
    if (tests.isFull()) break;
    const name = SUMMARY.exec(line)?.[2];
    const place = name === undefined ? SKIPPED.exec(line)?.[1] : undefined;
    if (name !== undefined) tests.add([name], { skipped: false });
    else if (place !== undefined) tests.add([place], { skipped: true });
  }
  return true;
}
