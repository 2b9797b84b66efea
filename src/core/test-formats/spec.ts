import type { TestCase } from '../test-case.ts';
import { shortLines } from './short-lines.ts';

const LINE = /^( *)([✔✖﹣▶]) (.*?)(?: \(\d+(?:\.\d+)?m?s\))?( # .*)?\s*$/u;

/** What node:test prints for people: a mark, the name and the time of each test, two blanks deeper in each suite. */
export function readSpec(text: string): TestCase[] | undefined {
  // The failures come once more after the numbers.
  const end = text.search(/^ℹ tests \d+/mu);
  if (end < 0) return undefined;
  const tests: TestCase[] = [];
  const suites: string[] = [];
  for (const line of shortLines(text.slice(0, end))) {
    const [, indent = '', mark = '', name = '', directive] = LINE.exec(line) ?? [];
    if (mark === '') continue;
    suites.length = Math.min(suites.length, indent.length / 2);
    if (mark === '▶') suites.push(name);
    else tests.push({ name: [...suites, name].join(' > '), skipped: mark === '﹣' || directive !== undefined });
  }
  return tests;
}
