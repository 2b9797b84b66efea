import { failedIf } from './collect-tests.ts';
import type { LineReader, PrintedTest } from './line-reader.ts';

/** A runner that prints a test per line, and at the end their number. */
interface SimpleRunner {
  runner: string;
  advice: string;
  /** The name is the group `name`. Absent: the runner names no tests. */
  test?: RegExp;
  skipped?: RegExp;
  failed?: RegExp;
  /** Group 1, or 2, is the number of tests. */
  sum: RegExp;
}

const REPORT_FILE = 'let it write JUnit XML, and name the file in `[tests] reports`';

/** Runners whose output is simple, or counted only. */
const RUNNERS: readonly SimpleRunner[] = [
  {
    runner: 'minitest',
    advice: 'add `--verbose`',
    test: /^(?<name>\S+#test_\S+) = [\d.]+ s = [.FES]$/,
    skipped: / = S$/,
    failed: / = [FE]$/,
    sum: /^(\d+) (?:runs|tests), \d+ assertions, \d+ failures, \d+ errors/,
  },
  { runner: 'PHPUnit', advice: REPORT_FILE, sum: /^(?:OK \((\d+) tests?, |Tests: (\d+), Assertions: )/ },
  { runner: 'Maven', advice: REPORT_FILE, sum: /^\[(?:INFO|ERROR|WARNING)\] Tests run: (\d+), .*\d$/ },
];

export function otherRunners(): LineReader[] {
  return RUNNERS.map(openRunner);
}

function openRunner({ runner, advice, test, skipped, failed, sum }: SimpleRunner): LineReader {
  let tests: PrintedTest[] = [];
  return {
    runner,
    advice,
    sum,
    tests: () => tests,
    reset: () => {
      tests = [];
    },
    read(line) {
      const name = test?.exec(line)?.groups?.['name'];
      if (name !== undefined)
        tests.push({
          names: [name],
          skipped: skipped?.test(line) === true,
          ...failedIf(failed?.test(line) === true),
        });
      return undefined;
    },
  };
}
