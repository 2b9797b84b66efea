import { failedIf, shortLines, MAX_SUITE_DEPTH, type CollectedTests } from './collect-tests.ts';

const LINE = /^( *)([✔✖﹣▶]) (.*)$/u;
const TIME = / \(\d+(?:\.\d+)?m?s\)$/;

/**
 * Reads the spec reporter of node:test: mark, name and time of each test, indented by two spaces per suite. The line that
 * ends a suite has its name again, and is not a test unless only the suite itself failed.
 */
export function readNodeSpec(text: string, tests: CollectedTests): boolean {
  // The failures are repeated after the counts.
  const end = text.search(/^ℹ tests \d+/mu);
  if (end < 0) return false;
  const suites: { name: string; hasFailed: boolean }[] = [];
  for (const line of shortLines(text.slice(0, end))) {
    if (tests.isFull()) break;
    const [, indent = '', mark = '', rest = ''] = LINE.exec(line) ?? [];
    if (mark === '') continue;
    const directive = rest.indexOf(' # ');
    const name = (directive < 0 ? rest.trimEnd() : rest.slice(0, directive)).replace(TIME, '');
    const depth = Math.floor(indent.length / 2);
    const skipped = mark === '﹣' || directive >= 0;
    const failed = mark === '✖' && !skipped;
    const ended = suites[depth];
    suites.length = Math.min(suites.length, depth);
    if (ended?.name === name && (mark === '▶' || !failed || ended.hasFailed)) continue;
    if (failed) for (const suite of suites) suite.hasFailed = true;
    if (mark !== '▶') tests.add([...suites.map((suite) => suite.name), name], { skipped, ...failedIf(failed) });
    else if (suites.length < MAX_SUITE_DEPTH) suites.push({ name, hasFailed: false });
  }
  return true;
}
