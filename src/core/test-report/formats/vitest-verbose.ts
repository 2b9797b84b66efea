import { failedIf } from './collect-tests.ts';
import type { LineReader, PrintedTest } from './line-reader.ts';

/** ` ✓ a.test.js > cart > adds 2ms`; a project may precede the file. */
const TEST = /^ (✓|×|↓|□) (?:\|[^|]*\| )?(\S+\.\w+ > .+)$/u;
const TIME = / \d+m?s$/;
const SUM = /^ {1,8}Tests {2}.*\((\d+)\)$/;

/** vitest with the reporter `verbose`: a line for each test. */
export function readVitestVerbose(): LineReader {
  let tests: PrintedTest[] = [];
  const reset = () => {
    tests = [];
  };
  return {
    runner: 'vitest',
    advice: 'add `--reporter=verbose`, or `--reporter=tap-flat`',
    sum: SUM,
    tests: () => tests,
    reset,
    read(line) {
      const [, mark = '', printed] = TEST.exec(line) ?? [];
      if (printed === undefined) return undefined;
      const names = printed.replace(TIME, '').split(' > ');
      tests.push({ names, skipped: mark === '↓' || mark === '□', ...failedIf(mark === '×') });
      return undefined;
    },
  };
}
