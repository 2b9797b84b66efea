import { failedIf } from './collect-tests.ts';
import type { LineReader, PrintedReport, PrintedTest } from './line-reader.ts';

/** The name has the title of its file, if there are several. */
const TEST = /^ {2}(?:[✔✖✘] |- )(?:\[(skip|todo|expected fail|fail)\]:? )?(.+)$/u;
const TIME = / \(\d+(?:\.\d+)?m?s\)$/;
const SUM = /^ {2}(\d+) (?:tests? (?:passed|failed|skipped|todo)|known failures?)$/;

/** AVA without `--tap`. Lines with counts end the report. */
export function readAva(): LineReader {
  let tests: PrintedTest[] = [];
  let counted: number | undefined;
  let isOver = false;
  const reset = () => {
    tests = [];
    [counted, isOver] = [undefined, false];
  };
  const close = (): PrintedReport | undefined => {
    const report = counted === undefined ? undefined : { tests, counted };
    if (report !== undefined) reset();
    return report;
  };
  return {
    runner: 'AVA',
    advice: 'add `--tap`',
    reset,
    read(line) {
      const count = SUM.exec(line)?.[1];
      if (count !== undefined) {
        counted = (counted ?? 0) + Number(count);
        return undefined;
      }
      const [, mark, name] = TEST.exec(line) ?? [];
      // The failures follow, with lists of what differs.
      isOver ||= line === '  ─';
      if (name !== undefined && !isOver)
        tests.push({
          names: [name.replace(TIME, '')],
          skipped: mark !== undefined && mark !== 'fail',
          ...failedIf(mark === 'fail'),
        });
      return close();
    },
    end: close,
  };
}
