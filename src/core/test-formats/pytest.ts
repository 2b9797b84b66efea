import type { TestCase } from '../test-case.ts';
import { shortLines } from './short-lines.ts';

const HEADER = /^=+ test session starts =+$/m;
/** `-v`: the test and then its outcome. */
const VERBOSE = /^(\S+\.py::.+?) (PASSED|FAILED|SKIPPED|ERROR|XFAIL|XPASS)\b/;
/** `-rA`: the outcome and then the test. A skipped one is named by its place only. */
const SUMMARY = /^(PASSED|FAILED|ERROR|XFAIL|XPASS) (\S+\.py::.+?)(?: - .*)?$/;
const SKIPPED = /^SKIPPED \[\d+\] (\S+\.py:\d+)/;

/** The output of pytest with `-v` or `-rA`; without either it names no tests. */
export function readPytest(text: string): TestCase[] | undefined {
  if (!HEADER.test(text)) return undefined;
  const lines = shortLines(text);
  const verbose = lines.flatMap((line): TestCase[] => {
    const [, name, outcome] = VERBOSE.exec(line) ?? [];
    return name === undefined ? [] : [{ name, skipped: outcome === 'SKIPPED' }];
  });
  if (verbose.length > 0) return verbose;
  return lines.flatMap((line): TestCase[] => {
    const name = SUMMARY.exec(line)?.[2];
    if (name !== undefined) return [{ name, skipped: false }];
    const place = SKIPPED.exec(line)?.[1];
    return place === undefined ? [] : [{ name: place, skipped: true }];
  });
}
