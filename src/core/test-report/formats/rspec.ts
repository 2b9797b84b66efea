import { failedIf } from './collect-tests.ts';
import type { LineReader, PrintedTest } from './line-reader.ts';

const SUM = /^(\d+) examples?, \d+ failures?/;
const END = /^(?:Pending|Failures|Finished in\b.*):?/;
const NOTE = / \((?:(FAILED) - \d+|(PENDING): .*)\)$/;

interface Row {
  depth: number;
  text: string;
}

/** RSpec with `--format documentation`: examples are the lines that no deeper line follows. */
export function readRspec(): LineReader {
  let rows: Row[] = [];
  let isOver = false;
  let before = '';
  const reset = () => {
    rows = [];
    isOver = false;
  };
  return {
    runner: 'RSpec',
    advice: 'add `--format documentation`',
    sum: SUM,
    tests: () => testsIn(rows),
    reset,
    read(line) {
      isOver ||= END.test(line);
      const text = line.trimStart();
      const depth = (line.length - text.length) / 2;
      // A blank line precedes a group at the top; others without indentation are output.
      const isRow = depth === 0 ? before === '' : Number.isInteger(depth) && depth <= (rows.at(-1)?.depth ?? -1) + 1;
      if (!isOver && text !== '' && isRow) rows.push({ depth, text });
      before = line;
      return undefined;
    },
  };
}

function testsIn(rows: readonly Row[]): PrintedTest[] {
  const groups: string[] = [];
  return rows.flatMap(({ depth, text }, index) => {
    groups.length = Math.min(groups.length, depth);
    if ((rows[index + 1]?.depth ?? 0) > depth) {
      groups.push(text);
      return [];
    }
    if (depth === 0) return [];
    const [, failed, pending] = NOTE.exec(text) ?? [];
    const names = [...groups, text.replace(NOTE, '')];
    return [{ names, skipped: pending !== undefined, ...failedIf(failed !== undefined) }];
  });
}
