import { failedIf, shortLines, MAX_SUITE_DEPTH, type CollectedTests } from './collect-tests.ts';

const POINT = /^( *)(not )?ok\b(?: +\d+)?(?: +-)? ?(.*)$/;
const SUBTEST = /^( *)# Subtest: (.*)$/;

/** Reads the Test Anything Protocol, with subtests indented as by node:test and node-tap. */
export function readTap(text: string, tests: CollectedTests): boolean {
  if (!/^(?:TAP version 1[34]|1\.\.\d+)\s*$/m.test(text)) return false;
  const open: { depth: number; name: string }[] = [];
  for (const line of shortLines(text)) {
    if (tests.isFull()) break;
    const subtest = SUBTEST.exec(line);
    if (subtest !== null) {
      const [, indent = '', name = ''] = subtest;
      while (open.length > 0 && (open.at(-1)?.depth ?? 0) >= indent.length) open.pop();
      if (open.length < MAX_SUITE_DEPTH) open.push({ depth: indent.length, name: name.trim() });
      continue;
    }
    const point = POINT.exec(line);
    if (point === null) continue;
    const [, indent = '', not, rest = ''] = point;
    const around = open.filter(({ depth }) => depth < indent.length).map(({ name }) => name);
    const [, title = '', directive] = /^(.*?)(?:(?<!\\)#\s*(skip|todo)\b.*)?$/i.exec(rest) ?? [];
    tests.add([...around, title.trim()], {
      skipped: directive !== undefined,
      ...failedIf(not !== undefined && directive === undefined),
    });
  }
  return true;
}
