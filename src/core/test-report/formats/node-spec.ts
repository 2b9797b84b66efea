import { failedIf, MAX_SUITE_DEPTH } from './collect-tests.ts';
import type { LineReader, PrintedTest } from './line-reader.ts';

const LINE = /^( *)([✔✖﹣▶]) (.*)$/u;
const TIME = / \(\d+(?:\.\d+)?m?s\)$/;
const SUM = /^ℹ tests (\d+)$/;

/**
 * The spec reporter of node:test: mark, name and time of each test, indented by two spaces per suite. The line that
 * ends a suite has its name again, and is not a test unless only the suite itself failed.
 */
export function readNodeSpec(): LineReader {
  let tests: PrintedTest[] = [];
  let suites: { name: string; hasFailed: boolean }[] = [];
  let before = '';
  const reset = () => {
    [tests, suites] = [[], []];
  };
  const readTest = ([, indent = '', mark = '', rest = '']: string[]) => {
    const directive = rest.indexOf(' # ');
    const name = (directive < 0 ? rest.trimEnd() : rest.slice(0, directive)).replace(TIME, '');
    const depth = Math.floor(indent.length / 2);
    const skipped = mark === '﹣' || directive >= 0;
    const failed = mark === '✖' && !skipped;
    const ended = suites[depth];
    suites.length = Math.min(suites.length, depth);
    if (ended?.name === name && (mark === '▶' || !failed || ended.hasFailed)) return;
    if (failed) for (const suite of suites) suite.hasFailed = true;
    if (mark !== '▶') tests.push({ names: [...suites.map((suite) => suite.name), name], skipped, ...failedIf(failed) });
    else if (suites.length < MAX_SUITE_DEPTH) suites.push({ name, hasFailed: false });
  };
  return {
    runner: 'node:test',
    advice: 'use the reporter `spec` or `tap`',
    sum: SUM,
    tests: () => tests,
    reset,
    read(line) {
      // The failures are repeated after the counts.
      const isRepeated = before.startsWith('test at ') || line === '✖ failing tests:';
      before = line;
      const found = isRepeated ? null : LINE.exec(line);
      if (found !== null) readTest(found);
      return undefined;
    },
  };
}
