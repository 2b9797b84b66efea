import { truncate, safeOutput, safeText, stripStyling } from '../text/safe-text.ts';

/** A failed test, as its runner printed it. */
interface FailedTest {
  name: string;
  /** `file:line`, relative to the workspace. */
  place?: string;
  /** Up to a few lines. */
  message: string;
}

export interface FailedTests {
  count: number;
  /** The first failed tests, at most. */
  tests: FailedTest[];
}

const MAX_SHOWN = 5;
const MAX_NAME = 200;
const MAX_MESSAGE = 500;
const MAX_MESSAGE_LINES = 4;
/** Maximum output lines of one failure. */
const MAX_BLOCK = 60;
/** Longer lines are not messages of a test runner. */
const MAX_LINE = 2_000;

interface Runner {
  /** Identifies the runner's output and the start of its failures. */
  begins: RegExp;
  /** The first line of a failure; group 1 is the name of the test. */
  starts: RegExp;
  /** Following lines that continue the name. */
  names?: RegExp;
  /** The first line after the failures. */
  ends?: RegExp;
  /** Message lines of a failure; group 1 is the text. Default: everything except the stack. */
  says?: RegExp;
}

/** Failure formats of test runners, each tested with recorded output. */
const RUNNERS: readonly Runner[] = [
  // node:test, spec reporter: repeats the failures at the end.
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

/** Matches trimmed lines. */
const STACK =
  /^(?:at |❯ |\d+: |stack backtrace:|thread '|File "|Traceback|[-=_⎯]{3,}|(?:> )?\d{0,9} {0,9}\||note: |\^)/;
/** Only this many characters of a line are searched for places and messages. */
const MAX_LOOKED_AT = 300;
const PLACE = /((?:[\w.@+-]+\/)*[\w.@+-]+\.[A-Za-z]\w{0,5})(?::|", line |\()(\d+)/;

/** Finds the failed tests in the output of a gate; undefined if its format is not known. */
export function findFailedTests(output: string): FailedTests | undefined {
  const lines = output.split('\n', 400_000).map((line) => stripStyling(line.slice(0, MAX_LINE)).replaceAll('\r', ''));
  const failed = [readTapFailures(lines), ...RUNNERS.map((runner) => readFailures(lines, runner))];
  const found = failed.find(({ count }) => count > 0);
  return found?.tests.some(isSilent) ? withPrintedErrors(found, lines) : found;
}

/** Whether a runner has no message for it, as for a file that cannot be loaded. */
function isSilent({ name, message }: FailedTest): boolean {
  return /^(?:'?test failed'?)?$/.test(message) || message === name;
}

/** An error with a name of its own, such as `SyntaxError: …`. */
const ERROR_LINE = /^(?:# |E {1,9})?((?:[A-Z]\w{0,60})?(?:Error|Exception)\b(?: \[\w{1,60}\])?:.*)/;
/** Where the source is that an error is about: above it, or in its stack. */
const LINES_ABOVE = 6;
const LINES_BELOW = 10;
/** More are not looked at: output is untrusted, and the search for a place in a line is slow. */
const MAX_ERRORS = 50;

/** Gives tests without a message the error that was printed about their file, or of a single test the first one. */
function withPrintedErrors({ count, tests }: FailedTests, lines: readonly string[]): FailedTests {
  const errors: { said: string; place: string | undefined }[] = [];
  for (let at = 0; at < lines.length && errors.length < MAX_ERRORS; at++) {
    const said = ERROR_LINE.exec((lines[at] ?? '').trimStart())?.[1];
    if (said === undefined) continue;
    const around = [
      ...lines.slice(Math.max(0, at - LINES_ABOVE), at).toReversed(),
      ...lines.slice(at + 1, at + 1 + LINES_BELOW),
    ];
    errors.push({ said, place: around.map(placeIn).find((place) => place !== undefined) });
  }
  const filled = tests.map((test): FailedTest => {
    if (!isSilent(test)) return test;
    const isOf = ({ place }: (typeof errors)[number]) => place !== undefined && test.name.endsWith(fileOf(place));
    const error = errors.find(isOf) ?? (count === 1 ? errors[0] : undefined);
    return error === undefined ? test : toFailedTest(test.name, [error.said], error.place ?? test.place);
  });
  return { count, tests: filled };
}

function fileOf(place: string): string {
  return place.replace(/:\d+$/, '');
}

/** `1 test failed: adds`, `3 tests failed: adds, sums, …`; of a file that cannot be loaded with its error. */
export function describeFailedTests({ count, tests }: FailedTests): string {
  const names = tests.slice(0, 2).map(({ name, place, message }) => {
    const isFile = place !== undefined && name.endsWith(fileOf(place)) && !isSilent({ name, message });
    return isFile ? `${place}: ${message.split('\n')[0] ?? ''}` : name;
  });
  return `${count} ${count === 1 ? 'test' : 'tests'} failed: ${names.join(', ')}${count > names.length ? ', …' : ''}`;
}

/** Formats failed tests with places and messages, safe to print, for users and for the next attempt's prompt. */
export function failedTestsLines({ count, tests }: FailedTests): string[] {
  const lines = tests.flatMap(({ name, place, message }) => [
    oneLine(`✗ ${name}${place === undefined ? '' : `  ${place}`}`),
    ...message.split('\n').flatMap((line) => (line.trim() === '' ? [] : [`  ${oneLine(line)}`])),
  ]);
  return count > tests.length ? [...lines, `… and ${count - tests.length} more`] : lines;
}

function oneLine(text: string): string {
  return safeOutput(text)
    .replace(/[\t\n]/g, '  ')
    .trimEnd();
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
  return toFailedTest(name, words, failedAt(/^test at /.test(before) ? placeIn(before) : undefined, block));
}

/** Where a test failed: the line of its own file in the stack; else where it is declared, as some runners print. */
function failedAt(declared: string | undefined, block: readonly string[]): string | undefined {
  const places = block.flatMap((line) => placeIn(line) ?? []);
  if (declared === undefined) return places[0];
  return places.find((place) => fileOf(place) === fileOf(declared)) ?? declared;
}

/** The message lines above the stack, including the continuation of a multi-line name. */
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

/** Finds a place in the repository's own code, not in the runner, packages or the standard library. */
function placeIn(line: string): string | undefined {
  if (/node_modules|node:|\/rustc\/|site-packages|\/usr\/lib/.test(line)) return undefined;
  const [, file, number] = PLACE.exec(line.trim().slice(0, MAX_LOOKED_AT)) ?? [];
  return file === undefined ? undefined : `${file.replace(/^workspace\//, '')}:${number ?? ''}`;
}

function toFailedTest(name: string, words: readonly string[], place: string | undefined): FailedTest {
  const message = words.slice(0, MAX_MESSAGE_LINES).map((line) => line.trim());
  return {
    name: truncate(safeText(name).trim(), MAX_NAME),
    ...(place === undefined ? {} : { place: truncate(safeText(place), MAX_NAME) }),
    message: truncate(safeText(message.join('\n')), MAX_MESSAGE),
  };
}

/** Reads the Test Anything Protocol. The message is in the YAML block below a test point. */
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
    const declared = location === undefined ? undefined : placeIn(location);
    const place = failedAt(
      declared,
      block.filter((each) => each !== location),
    );
    found.tests.push(toFailedTest(name, yamlText(block, 'error') ?? yamlText(block, 'message') ?? [], place));
  });
  return found;
}

/** The lines of a plain, quoted or block YAML value. */
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
