import { failedIf, MAX_SUITE_DEPTH } from './collect-tests.ts';
import type { LineReader, PrintedTest } from './line-reader.ts';

/** With colors, a blank surrounds the word. */
const FILE = /^ ?(?:PASS|FAIL) {1,2}\S/;
const TEST = /^( {2,})(?:([✓√])|([✕×])|(○)(?: skipped)?|(✎)(?: todo)?) (.+)$/u;
const SUITE = /^( {2,})(\S.*)$/;
const TIME = / \(\d+(?:\.\d+)? m?s\)$/;
const SUM = /^Tests: +(?:.*, )?(\d+) total$/;

/** jest with `--verbose`, or for a single file: a block for each file, which a blank line ends. */
export function readJestVerbose(): LineReader {
  let tests: PrintedTest[] = [];
  let suites: string[] | undefined;
  const reset = () => {
    tests = [];
    suites = undefined;
  };
  return {
    runner: 'jest',
    advice: 'add `--verbose` or `--json`',
    sum: SUM,
    tests: () => tests,
    reset,
    read(line) {
      if (FILE.test(line)) suites = [];
      else if (line.trim() === '') suites = undefined;
      else if (suites !== undefined) {
        const [, indent, , failed, skipped, todo, printed] = TEST.exec(line) ?? [];
        const [, space = '', suite = ''] = SUITE.exec(line) ?? [];
        const depth = Math.floor((indent ?? space).length / 2) - 1;
        if (printed !== undefined)
          tests.push({
            names: [...suites.slice(0, depth), printed.replace(TIME, '')],
            skipped: skipped !== undefined || todo !== undefined,
            ...failedIf(failed !== undefined),
          });
        else if (depth >= 0 && depth < MAX_SUITE_DEPTH) suites = [...suites.slice(0, depth), suite];
      }
      return undefined;
    },
  };
}
