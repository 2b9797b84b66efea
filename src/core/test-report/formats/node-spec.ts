import { DEEPEST_SUITE, type Tests } from '../../test-formats/collect.ts';
import { shortLines } from '../../test-formats/short-lines.ts';

const LINE = /^( *)([✔✖﹣▶]) (.*)$/u;
const TIME = / \(\d+(?:\.\d+)?m?s\)$/;

/** What node:test prints for people: a mark, the name and the time of each test, two blanks deeper in each suite. */
export function readSpec(text: string, tests: Tests): boolean {
  // The failures come once more after the numbers.
  const end = text.search(/^ℹ tests \d+/mu);
  if (end < 0) return false;
  const suites: string[] = [];
  for (const line of shortLines(text.slice(0, end))) {
    if (tests.isFull()) break;
    const [, indent = '', mark = '', rest = ''] = LINE.exec(line) ?? [];
    if (mark === '') continue;
    const directive = rest.indexOf(' # ');
    const name = (directive < 0 ? rest.trimEnd() : rest.slice(0, directive)).replace(TIME, '');
    suites.length = Math.min(suites.length, Math.floor(indent.length / 2));
    if (mark !== '▶') tests.add([...suites, name], { skipped: mark === '﹣' || directive >= 0 });
    else if (suites.length < DEEPEST_SUITE) suites.push(name);
  }
  return true;
}
