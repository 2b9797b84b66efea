import { failedIf } from './collect-tests.ts';
import type { LineReader, PrintedTest } from './line-reader.ts';

/** `test tests::adds ... ok`, `test later ... ignored, no time` */
const RESULT = /^test (.+?) \.\.\. ?(.*)$/;
/** The same after output without a newline. */
const LATE = /test (\S+(?: - should panic)?) \.\.\. (ok|FAILED|ignored(?:, .*)?)$/;
const SUM = /^test result: \w+\. (\d+) passed; (\d+) failed; (\d+) ignored;/;

/** cargo test, one report for each test program. */
export function readCargoTest(): LineReader {
  let tests: PrintedTest[] = [];
  let open: PrintedTest | undefined;
  const reset = () => {
    tests = [];
    open = undefined;
  };
  const settle = (test: PrintedTest, outcome: string): boolean => {
    const [, word] = /^(ok|FAILED|ignored)(?:, .*)?$/.exec(outcome) ?? [];
    if (word === undefined) return false;
    Object.assign(test, { skipped: word === 'ignored', ...failedIf(word === 'FAILED') });
    return true;
  };
  return {
    runner: 'cargo test',
    advice: 'leave out `-q`',
    reset,
    read(line) {
      const [, passed, failed, ignored] = SUM.exec(line) ?? [];
      if (passed !== undefined) {
        const report = { tests, counted: Number(passed) + Number(failed) + Number(ignored) };
        reset();
        return report;
      }
      if (/^running \d+ tests?$/.test(line)) reset();
      const [, name, outcome = ''] = RESULT.exec(line) ?? LATE.exec(line) ?? [];
      if (name !== undefined) {
        // A panic is expected of it, or the line of its documentation, which moves.
        const test = { names: [name.replace(/ - should panic$/, '')], skipped: false };
        tests.push(test);
        open = settle(test, outcome) ? undefined : test;
      } else if (open !== undefined && settle(open, line)) open = undefined;
      return undefined;
    },
  };
}
