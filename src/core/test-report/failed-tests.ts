import { clip, safeText } from '../safe-text.ts';

/** A test that failed, as its runner printed it. */
export interface FailedTest {
  name: string;
  /** `file:line`, relative to the workspace. */
  place?: string;
  /** Up to a few lines. */
  message: string;
}

export interface FailedTests {
  count: number;
  /** The first few. */
  tests: FailedTest[];
}

const MAX_SHOWN = 5;
const MAX_NAME = 200;
const MAX_MESSAGE = 500;
const MAX_MESSAGE_LINES = 4;
/** Most lines of output that belong to one failure. */
const MAX_BLOCK = 60;
/** Longer lines are not the words of a test runner. */
const MAX_LINE = 2_000;

interface Runner {
  /** The output is of this runner, and its failures are told from here on. */
  begins: RegExp;
  /** The first line of a failure; its first group is the name of the test. */
  starts: RegExp;
  /** Lines right below the first one that go on with the name. */
  names?: RegExp;
  /** The first line that no longer belongs to failures. */
  ends?: RegExp;
  /** Lines of a failure that say what went wrong; the first group is the text. By default: all that is not a stack. */
  says?: RegExp;
}

/** How test runners print what failed, each from recorded output. */
const RUNNERS: readonly Runner[] = [
  // node:test for people: the failures come once more at the end.
  { begins: /^✖ failing tests:$/, starts: /^✖ (?!failing tests:$)(.+?)(?: \(\d+(?:\.\d+)?m?s\))?$/ },
  // vitest
  {
    begins: /^⎯+ Failed (?:Tests|Suites) \d+ ⎯+$/,
    starts: /^ FAIL {2}(?:\|[^|]*\| )?(?:\S+ > )?(.+)$/,
    ends: /^⎯+(?:\[\d+\/\d+\])?⎯+$/,
  },
  // jest
  { begins: /^(?:FAIL|PASS) \S/, starts: /^ {2}● (.+)$/, ends: /^Test Suites: / },
  // mocha
  { begins: /^ {2}\d+ failing$/, starts: /^ {2}\d+\) (.+)$/, names: /^ {7,}(.+?):?$/ },
  // pytest
  {
    begins: /^=+ (?:FAILURES|ERRORS) =+$/,
    starts: /^_{3,} (.+?) _{3,}$/,
    ends: /^=+ (?:short test summary|\d+ (?:failed|passed|error))/,
    says: /^E +(.*)$/,
  },
  // unittest
  {
    begins: /^={70}$/,
    starts: /^(?:FAIL|ERROR): (.+)$/,
    ends: /^Ran \d+ tests? in /,
    says: /^(\w+(?:\.\w+)*(?:Error|Exception|Warning|Exit)\b.*)$/,
  },
  // go test
  { begins: /^\s*--- FAIL: /, starts: /^\s*--- FAIL: (\S+)/, ends: /^FAIL$/ },
  // cargo test
  { begins: /^---- \S.* stdout ----$/, starts: /^---- (\S.*) stdout ----$/, ends: /^failures:$/ },
];

/** Of a line without the blanks around it. */
const STACK =
  /^(?:at |❯ |\d+: |stack backtrace:|thread '|File "|Traceback|[-=_⎯]{3,}|(?:> )?\d{0,9} {0,9}\||note: |\^)/;
/** Places and words of a failure are not looked for beyond this many characters of a line. */
const MAX_LOOKED_AT = 300;
const PLACE = /((?:[\w.@+-]+\/)*[\w.@+-]+\.[A-Za-z]\w{0,5})(?::|", line |\()(\d+)/;

/** The tests that failed, from what a gate printed; undefined when it does not say in a way that is known here. */
export function findFailedTests(output: string): FailedTests | undefined {
  const lines = output
    .split('\n', 400_000)
    .map((line) => line.slice(0, MAX_LINE).replaceAll(/\u001b\[[\d;]*m|\r/g, ''));
  const failed = [readTapFailures(lines), ...RUNNERS.map((runner) => readFailures(lines, runner))];
  return failed.find(({ count }) => count > 0);
}

/** `1 test failed: adds`, `3 tests failed: adds, sums, …` */
export function describeFailedTests({ count, tests }: FailedTests): string {
  const names = tests.slice(0, 2).map(({ name }) => name);
  return `${count} ${count === 1 ? 'test' : 'tests'} failed: ${names.join(', ')}${count > names.length ? ', …' : ''}`;
}

/** The same with places and messages, a line each, for people and for the next attempt. */
export function failedTestsLines({ count, tests }: FailedTests): string[] {
  const lines = tests.flatMap(({ name, place, message }) => [
    `✗ ${name}${place === undefined ? '' : `  ${place}`}`,
    ...message.split('\n').map((line) => `  ${line}`),
  ]);
  return count > tests.length ? [...lines, `… and ${count - tests.length} more`] : lines;
}

function readFailures(lines: readonly string[], { begins, starts, names, ends, says }: Runner): FailedTests {
  const found: FailedTests = { count: 0, tests: [] };
  let at = lines.findIndex((line) => begins.test(line));
  if (at < 0) return found;
  for (; at < lines.length; at += 1) {
    const line = lines[at] ?? '';
    if (found.count > 0 && ends?.test(line) === true) break;
    const name = starts.exec(line)?.[1];
    if (name === undefined) continue;
    found.count += 1;
    if (found.tests.length === MAX_SHOWN) continue;
    const block = takeBlock(lines, at + 1, (next) => starts.test(next) || ends?.test(next) === true);
    const inside = names === undefined ? -1 : block.findIndex((next) => !names.test(next));
    const suites = block.slice(0, Math.max(0, inside)).flatMap((next) => names?.exec(next)?.[1] ?? []);
    const full = [name, ...suites].join(' > ');
    found.tests.push(readFailure(full, block.slice(suites.length), { says, before: lines[at - 1] ?? '' }));
  }
  return found;
}

function takeBlock(lines: readonly string[], start: number, isEnd: (line: string) => boolean): string[] {
  const block = lines.slice(start, start + MAX_BLOCK);
  const end = block.findIndex(isEnd);
  return end < 0 ? block : block.slice(0, end);
}

function readFailure(
  name: string,
  block: readonly string[],
  { says, before }: { says: RegExp | undefined; before: string },
): FailedTest {
  const words = says === undefined ? untilStack(block) : block.flatMap((line) => says.exec(line)?.[1] ?? []);
  const places = /^test at /.test(before) ? [before, ...block] : block;
  return toFailedTest(
    name,
    words,
    places.map(placeIn).find((place) => place !== undefined),
  );
}

/** What stands above the stack; the rest of a name in several lines is part of it. */
function untilStack(block: readonly string[]): string[] {
  const said = block.filter(isSaid);
  const stack = block.findIndex((line) => /^(?:at |❯ |stack backtrace:)/.test(line.trimStart()));
  const above = stack < 0 ? block : block.slice(0, stack);
  const lines = above.filter(isSaid);
  return lines.length > 0 ? lines : said;
}

function isSaid(line: string): boolean {
  const text = line.trim().slice(0, MAX_LOOKED_AT);
  return text !== '' && !STACK.test(text);
}

/** Where the repository's own code is named: not the runner, its packages or the language. */
function placeIn(line: string): string | undefined {
  if (/node_modules|node:|\/rustc\/|site-packages|\/usr\/lib/.test(line)) return undefined;
  const [, file, number] = PLACE.exec(line.trim().slice(0, MAX_LOOKED_AT)) ?? [];
  return file === undefined ? undefined : `${file.replace(/^workspace\//, '')}:${number ?? ''}`;
}

function toFailedTest(name: string, words: readonly string[], place: string | undefined): FailedTest {
  const message = words.slice(0, MAX_MESSAGE_LINES).map((line) => line.trim());
  return {
    name: clip(safeText(name).trim(), MAX_NAME),
    ...(place === undefined ? {} : { place: clip(safeText(place), MAX_NAME) }),
    message: clip(safeText(message.join('\n')), MAX_MESSAGE),
  };
}

/** The Test Anything Protocol: the reason is in the YAML below a point, which names suites once more by their own. */
function readTapFailures(lines: readonly string[]): FailedTests {
  const found: FailedTests = { count: 0, tests: [] };
  lines.forEach((line, at) => {
    const [, indent = '', name] = /^( *)not ok \d+(?: +-)? ?(.*)$/.exec(line) ?? [];
    if (name === undefined || /(?<!\\)#\s*(?:skip|todo)\b/i.test(name)) return;
    const block = takeBlock(lines, at + 1, (next) => next.trim() === '...' || !next.startsWith(`${indent}  `));
    if (block.some((each) => each.includes("failureType: 'subtestsFailed'"))) return;
    found.count += 1;
    if (found.tests.length === MAX_SHOWN) return;
    const location = block.find((each) => each.trim().startsWith('location:'));
    const place = [...(location === undefined ? [] : [location]), ...block].map(placeIn).find(Boolean);
    found.tests.push(toFailedTest(name, yamlText(block, 'error') ?? yamlText(block, 'message') ?? [], place));
  });
  return found;
}

/** The lines of a YAML value, plain, quoted or as a block. */
function yamlText(block: readonly string[], key: string): string[] | undefined {
  const at = block.findIndex((line) => line.trim().startsWith(`${key}:`));
  if (at < 0) return undefined;
  const first = block[at] ?? '';
  const value = first.slice(first.indexOf(':') + 1).trim();
  if (!/^[|>][-+]?$/.test(value)) return [value.replace(/^(['"])(.*)\1$/, '$2')];
  const indent = first.length - first.trimStart().length;
  const rest = block.slice(at + 1);
  const end = rest.findIndex((line) => line.trim() !== '' && line.length - line.trimStart().length <= indent);
  return (end < 0 ? rest : rest.slice(0, end)).filter((line) => line.trim() !== '');
}
