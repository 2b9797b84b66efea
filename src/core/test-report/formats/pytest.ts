import { failedIf } from './collect-tests.ts';
import type { LineReader, PrintedReport, PrintedTest } from './line-reader.ts';

const OUTCOME = String.raw`(PASSED|FAILED|SKIPPED|ERROR|XFAIL|XPASS|RERUN)`;
/** What may follow an outcome: a reason, and the progress. */
const REST = String.raw`(?: \(.*\))?\s*(?:\[ *\d+%\])?`;
/** The look-ahead keeps matching linear for lines with many `::`. */
const NAME = String.raw`(?=\S+?::.)(.+?)`;
/** `-v`: the test, then its outcome. */
const VERBOSE = new RegExp(String.raw`^${NAME} ${OUTCOME}${REST}$`);
/** `-v` with xdist: the worker, the progress, the outcome, then the test. */
const PARALLEL = new RegExp(String.raw`^\[gw\d+\]\s+(?:\[ *\d+%\]\s+)?${OUTCOME}\s+${NAME}\s*$`);
/** The start of a test whose outcome is below its output: with `-s`, a live log, or xdist. */
const BEGUN = /^(?=\S+?\.py::.)((?:(?!::)\S)+(?:::[^\s[]+)+(?:\[.*\])?)(?: |$)/;
/** The outcome at the end of output that has no newline. */
const ENDED = new RegExp(String.raw`${OUTCOME}${REST}$`);
/** `-rA`, and always for failures: the outcome, then the test. Skipped tests have only a place. */
const SUMMARY = new RegExp(String.raw`^(PASSED|FAILED|ERROR|XFAIL|XPASS) ${NAME}(?: - .*)?$`);
const SKIPPED = /^SKIPPED \[(\d{1,6})\] \S/;
const SECTION = /^={3,} (.+?) ={3,}$/;
/** `=== 1 failed, 2 passed in 0.03s ===`, without signs with `-q` */
const SUM = /^(?:=+ )?((?:\d+ [a-z]+(?:, )?)+) in [\d.]+s(?: \([\d:, a-z]+\))?(?: =+)?$/;
const COUNTED = ['passed', 'failed', 'skipped', 'xfailed', 'xpassed'];
const BAD = ['FAILED', 'ERROR'];
/** The result of a test that is marked as an expected failure does not count, whatever it is: the test cannot fail. */
const NOT_COUNTED = ['SKIPPED', 'XFAIL', 'XPASS'];

/** pytest with `-v` or `-rA`, also with xdist, a live log, or without capture. */
export function readPytest(): LineReader {
  const tests = new Map<string, PrintedTest>();
  let open: string | undefined;
  let [isBegun, isOver] = [false, false];
  let unnamed = 0;
  const reset = () => {
    tests.clear();
    [isBegun, isOver] = [false, false];
    [open, unnamed] = [undefined, 0];
  };
  /** Of output that is cut off. */
  const close = (): PrintedReport | undefined => {
    const report = isBegun ? { tests: [...tests.values()], counted: 'some' as const } : undefined;
    reset();
    return report;
  };
  const note = (name: string, outcome: string | undefined) => {
    if (outcome === 'RERUN') return;
    const bad = outcome !== undefined && BAD.includes(outcome);
    const skipped = outcome !== undefined && NOT_COUNTED.includes(outcome);
    // A test that passed may have an error after it.
    if (outcome !== undefined || !tests.has(name)) tests.set(name, { names: [name], skipped, ...failedIf(bad) });
  };
  /** Below the results, lines may begin with the name of a test for other reasons. */
  const readSummary = (line: string) => {
    const [, outcome, name] = SUMMARY.exec(line) ?? [];
    if (name !== undefined) note(name, outcome);
    else unnamed += Number(SKIPPED.exec(line)?.[1] ?? 0);
  };
  const readResult = (line: string) => {
    const [, parallelOutcome, parallel] = PARALLEL.exec(line) ?? [];
    const [, name = parallel, outcome = parallelOutcome] = VERBOSE.exec(line) ?? [];
    if (name !== undefined) {
      note(name.trimEnd(), outcome);
      open = undefined;
      return;
    }
    const begun = BEGUN.exec(line)?.[1];
    if (begun !== undefined) note((open = begun), undefined);
    const end = open === undefined ? undefined : ENDED.exec(line)?.[1];
    if (open === undefined || end === undefined) return;
    note(open, end);
    open = undefined;
  };
  return {
    runner: 'pytest',
    advice: 'add `-v`',
    reset,
    read(line) {
      const sum = SUM.exec(line)?.[1];
      if (sum !== undefined) {
        const counts = sum.split(', ').map((each) => each.split(' '));
        const counted = counts.reduce((all, [n, what = '']) => all + (COUNTED.includes(what) ? Number(n) : 0), 0);
        const report = { tests: [...tests.values()], counted, named: tests.size + unnamed };
        reset();
        return counts.some(([, what = '']) => COUNTED.includes(what) || /^errors?$/.test(what)) ? report : undefined;
      }
      const section = SECTION.exec(line)?.[1];
      if (section === 'test session starts') {
        const cutOff = close();
        isBegun = true;
        return cutOff;
      }
      if (section !== undefined) isOver = true;
      else if (isOver || /^(?:FAILED|ERROR|PASSED|SKIPPED|XFAIL|XPASS) /.test(line)) readSummary(line);
      else readResult(line);
      return undefined;
    },
    end: close,
  };
}
