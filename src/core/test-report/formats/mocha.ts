import { failedIf, MAX_SUITE_DEPTH } from './collect-tests.ts';
import type { LineReader, PrintedReport, PrintedTest } from './line-reader.ts';

/** A mark and the name; output without a newline may precede it. */
const TEST = /(?<! )( {2,})(?:([✔✓])|(-)|(\d+)\)) (.+)$/u;
const SUITE = /^( {2,})(\S.*)$/;
const TIME = / \(\d+(?:\.\d+)?m?s\)$/;
const PASSING = /^ {2}(\d+) passing\b/;
const MORE = /^ {2}(\d+) (pending|failing)$/;

/** The spec reporter of mocha, also in parallel: suites and tests, indented by two spaces per suite. */
export function readMocha(): LineReader {
  let tests: PrintedTest[] = [];
  let suites: string[] = [];
  let counts: Record<string, number> | undefined;
  const reset = () => {
    [tests, suites] = [[], []];
    counts = undefined;
  };
  const close = (): PrintedReport | undefined => {
    if (counts === undefined) return undefined;
    const { passing = 0, pending = 0, failing = 0 } = counts;
    // Lists in the output of tests look like pending tests.
    const isListed = tests.filter((test) => test.skipped).length > pending;
    const report = {
      tests: isListed ? tests.filter((test) => !test.skipped) : tests,
      counted: passing + failing + (isListed ? 0 : pending),
    };
    reset();
    return report;
  };
  const readTest = (line: string) => {
    const [, indent = '', passed, pending, failed, printed] = TEST.exec(line) ?? [];
    const depth = (indent === '' ? (SUITE.exec(line)?.[1]?.length ?? 0) : indent.length) / 2 - 1;
    if (printed === undefined) {
      const name = SUITE.exec(line)?.[2];
      // Deeper lines are output of tests.
      if (name !== undefined && Number.isInteger(depth) && depth <= suites.length && depth < MAX_SUITE_DEPTH)
        suites = [...suites.slice(0, depth), name];
      return;
    }
    const names = [...suites.slice(0, Math.floor(depth)), passed === undefined ? printed : printed.replace(TIME, '')];
    tests.push({ names, skipped: pending !== undefined, ...failedIf(failed !== undefined) });
  };
  return {
    runner: 'mocha',
    advice: 'use the reporter `spec`',
    reset,
    read(line) {
      const passing = PASSING.exec(line)?.[1];
      if (passing !== undefined) {
        counts = { passing: Number(passing) };
        return undefined;
      }
      if (counts === undefined) {
        readTest(line);
        return undefined;
      }
      const [, count, what = ''] = MORE.exec(line) ?? [];
      if (count === undefined) return close();
      counts[what] = Number(count);
      return undefined;
    },
    end: close,
  };
}
