import { failedIf, shortLines, MAX_SUITE_DEPTH, type CollectedTests } from './collect-tests.ts';

const POINT = /^( *)(not )?ok\b(?: +(\d+))?(?: +-)? ?(.*)$/;
/** A point after output without a newline. */
const LATE_POINT = /()(not )?ok (\d+) (.*)$/;
const PLAN = /^1\.\.(\d+)\s*$/;
const SUBTEST = /^( *)# Subtest: (.*)$/;
/** vitest: the time of a test, which differs between runs; a brace begins the tests of a file or suite. */
const TIME = / # time=[\d.]+m?s( \{)?$/;

/**
 * Reads the Test Anything Protocol, with subtests indented as by node:test and node-tap. The line after the subtests is
 * not a test of its own, unless it failed and none of them did. vitest prints it before them.
 */
export function readTap(text: string, tests: CollectedTests): boolean {
  if (!/^(?:TAP version 1[34]|1\.\.\d+)\s*$/m.test(text)) return false;
  const open: Subtest[] = [];
  let [planned, points, last] = [0, 0, 0];
  const begin = (indent: string, name: string) => {
    while (open.length > 0 && (open.at(-1)?.depth ?? 0) >= indent.length) open.pop();
    if (open.length < MAX_SUITE_DEPTH) open.push({ depth: indent.length, name: name.trim(), points: 0, failed: 0 });
  };
  for (const line of shortLines(text)) {
    if (tests.isFull()) break;
    const subtest = SUBTEST.exec(line);
    if (subtest !== null) {
      const [, indent = '', name = ''] = subtest;
      begin(indent, name);
      continue;
    }
    planned += Number(PLAN.exec(line)?.[1] ?? 0);
    const late = LATE_POINT.exec(line);
    const point = POINT.exec(line) ?? (late !== null && Number(late[3]) === last + 1 ? late : null);
    if (point === null) continue;
    const [, indent = '', not, number, printed = ''] = point;
    if (indent === '') {
      points += 1;
      last = Number(number ?? last + 1);
    }
    const rest = printed.replace(TIME, '');
    if (rest !== printed && printed.endsWith('{')) {
      begin(indent, rest);
      continue;
    }
    const around = open.filter(({ depth }) => depth < indent.length);
    const [, title = '', directive] = /^(.*?)(?:(?<!\\)#\s*(skip|todo)\b.*)?$/i.exec(rest) ?? [];
    const name = title.trim();
    const failed = not !== undefined && directive === undefined;
    const ended = open.find((subtest) => subtest.depth === indent.length && subtest.name === name);
    if (ended !== undefined && ended.points > 0 && (!failed || ended.failed > 0)) continue;
    for (const subtest of around) {
      subtest.points += 1;
      if (failed) subtest.failed += 1;
    }
    tests.add([...around.map((subtest) => subtest.name), name], {
      skipped: directive !== undefined,
      ...failedIf(failed),
    });
  }
  if (points < planned && !tests.isFull())
    tests.miss(`a TAP report plans ${planned} tests, of which ${points} could be read`);
  return true;
}

interface Subtest {
  /** The indentation of its line. */
  depth: number;
  name: string;
  /** The tests in it so far, and those that failed. */
  points: number;
  failed: number;
}
