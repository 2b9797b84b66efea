import { readFileSync } from 'node:fs';
import { describe, expect, it } from 'vitest';
import { collectTests, type TestCase } from '../../../src/core/test-report/formats/collect-tests.ts';
import { readTests } from '../../../src/core/test-report/formats/read-tests.ts';
import { changesText, compareTests, testsText } from '../../../src/core/test-report/test-report.ts';

/** Recorded with pytest 7.2.1 and xdist 3.1, Python 3.11, Go 1.19, cargo 1.95, and the versions of 2026-11 from npm and Debian. */
function recorded(name: string): string {
  return readFileSync(new URL(`fixtures/reports/${name}.txt`, import.meta.url), 'utf8');
}

function read(text: string): { tests: TestCase[] | undefined; missed: string[] } {
  const collected = collectTests();
  return { tests: readTests(text, collected), missed: collected.missed() };
}

/** Tests that did not run in brackets, failed ones with a mark. */
function shown(tests: TestCase[] | undefined): string[] {
  const names = (tests ?? []).map(({ name, skipped, failed }) =>
    skipped ? `(${name})` : failed === true ? `✗ ${name}` : name,
  );
  return names.sort();
}

const PYTEST = [
  'test_calc.py::test_adds',
  'test_calc.py::test_prints',
  'test_calc.py::test_logs',
  '(test_calc.py::test_later)',
  '(test_calc.py::test_known)',
  'test_calc.py::test_words[a b]',
  'test_calc.py::test_words[a -> b]',
  'test_calc.py::test_words[c::d [x]]',
  '✗ test_calc.py::TestCart::test_fails',
  '✗ test_calc.py::test_setup',
];
/** `-rA` names no skipped tests. */
const PYTEST_SUMMARY = PYTEST.filter((name) => !name.includes('test_later'));
const UNITTEST = [
  'test_calc.Calc.test_adds',
  '✗ test_calc.Calc.test_errors',
  '✗ test_calc.Calc.test_fails',
  '(test_calc.Calc.test_known)',
  '(test_calc.Calc.test_later)',
  'test_calc.Calc.test_plain',
  'test_calc.Calc.test_prints',
  '✗ test_calc.Calc.test_sub',
];
const GO = [
  ...['TestAdds', 'TestPrints', 'TestLogs', 'TestCart', 'TestCart/counts_a_->_b', 'TestCart/deep'].map(
    (name) => `example.com/shop/calc > ${name}`,
  ),
  '(example.com/shop/calc > TestLater)',
  'example.com/shop/calc > TestCart/deep/x/y',
  'example.com/shop/calc > ExampleAdd',
  'example.com/shop/cart > TestAdds',
  '✗ example.com/shop/cart > TestFails',
  '✗ example.com/shop/cart > TestFails/inner',
];
const CARGO = [
  'adds',
  'src/lib.rs - add (line 3)',
  'tests::adds',
  '(tests::later)',
  'tests::panics',
  'tests::prints',
  '✗ fails',
];
const MOCHA = [
  'alone',
  'cart > adds',
  'cart > prints',
  '(cart > later)',
  '(cart > pending)',
  '✗ cart > fails',
  'cart > deep > counts a -> b',
  'cart > deep > slow',
  'till > adds',
  'other > adds',
];
const MOCHA_FLAT = MOCHA.map((name) => name.replaceAll(' > ', ' '));
/** A test prints a line like those of the reporter. */
const FAKE = 'fake';
const JEST = [
  'alone',
  'cart > adds',
  'cart > prints',
  '(cart > later)',
  '(cart > some day)',
  '✗ cart > fails',
  'cart > deep > counts a -> b',
  'other > adds',
];
const VITEST = JEST.map((name) => {
  const file = name.includes('other') ? 'b.test.js' : 'a.test.js';
  return name.replace(/^(✗ |\()?/, `$1${file} > `);
});
const AVA = ['a › adds', 'a › prints', 'b › adds', '(a › known)', '(a › later)', '(a › some day)', '✗ a › fails'];
const NODE = [
  'cart > adds',
  'cart > prints',
  'cart > deep > counts a -> b',
  '(cart > later)',
  '(alone)',
  '✗ cart > fails',
];
const RSPEC = [
  'cart > adds',
  'cart > prints',
  '(cart > later)',
  '(cart > some day)',
  '✗ cart > fails',
  'cart > deep > counts a -> b',
];
const NODE_JUNIT = NODE.map((name) => name.replace(/(?:cart > )?(?:deep > )?([\w -]+(?:> b)?\)?)$/, 'test > $1'));

/** The recorded output, its tests, and the words that name the test which is removed. */
const READ: [output: string, tests: string[], removed: string][] = [
  ['pytest-v', PYTEST, 'test_adds'],
  ['pytest-v-xdist', PYTEST, 'test_adds'],
  ['pytest-v-log', PYTEST, 'test_adds'],
  ['pytest-v-s', PYTEST, 'test_adds'],
  ['pytest-v-s-log-color', PYTEST, 'test_adds'],
  ['pytest-rA', PYTEST_SUMMARY, 'test_adds'],
  ['pytest-rA-xdist', PYTEST_SUMMARY, 'test_adds'],
  ['unittest-v', UNITTEST, 'test_plain'],
  ['go-v', GO, 'TestLogs'],
  ['go-json', GO, 'TestLogs'],
  ['cargo', CARGO, 'tests::adds'],
  ['cargo-nocapture', [...CARGO, 'tests::fake'], 'tests::adds'],
  ['cargo-nocapture-1', CARGO, 'tests::adds'],
  ['cargo-color', CARGO, 'tests::adds'],
  ['mocha', [...MOCHA, FAKE], 'slow'],
  ['mocha-color', [...MOCHA, FAKE], 'slow'],
  ['mocha-parallel', [...MOCHA, FAKE], 'slow'],
  ['mocha-tap', MOCHA_FLAT, 'slow'],
  ['jest-verbose', JEST, 'alone'],
  ['jest-verbose-color', JEST, 'alone'],
  ['vitest-verbose', VITEST, 'alone'],
  ['vitest-tap-flat', VITEST, 'alone'],
  ['vitest-junit', VITEST, 'alone'],
  ['ava', AVA, 'b › adds'],
  ['ava-color', AVA.filter((name) => !name.includes('fails')), 'prints'],
  ['node-spec', [...NODE, FAKE], 'adds'],
  ['node-spec-color', [...NODE, FAKE], 'adds'],
  ['node-tap', NODE, 'adds'],
  ['node-junit', NODE_JUNIT, 'adds'],
  ['rspec-d', RSPEC, 'adds'],
  ['minitest-v', ['Cart#test_adds', '(Cart#test_later)', '✗ Cart#test_fails'], 'test_adds'],
];

describe('what runners print', () => {
  it.each(READ)('is read completely: %s', (output, expected) => {
    const { tests, missed } = read(recorded(output));
    expect(shown(tests)).toEqual([...expected].sort());
    expect(missed).toEqual([]);
  });

  it.each(READ)('shows a removed test: %s', (output, _expected, removed) => {
    const text = recorded(output);
    const lines = text.split('\n');
    const without = lines.filter((line) => !line.includes(removed) || /[✔ok]+ fake/.test(line)).join('\n');
    const changes = compareTests(read(text).tests ?? [], read(without).tests ?? []);
    expect(changes.removed.length).toBeGreaterThan(0);
    expect(changes.removed.every((name) => name.includes(removed))).toBe(true);
  });

  it.each([
    ['jest-json', JEST],
    ['vitest-json', JEST],
  ])('is read completely: %s', (output, expected) => {
    expect(shown(read(recorded(output)).tests)).toEqual([...expected].sort());
  });

  it.each([
    ['pytest-q', 'pytest ran 9 tests, of which 2 could be read: add `-v`'],
    ['unittest-plain', 'unittest ran 8 tests without naming them: add `-v`'],
    ['go-plain', 'go test ran tests without naming them: add `-v`'],
    ['gotestsum-testname', 'go test ran 12 tests without naming them: use `--format standard-verbose`'],
    ['cargo-q', 'cargo test ran 4 tests without naming them: leave out `-q`'],
    ['mocha-dot', 'mocha ran 10 tests, of which 1 could be read: use the reporter `spec`'],
    ['jest', 'jest ran 8 tests without naming them: add `--verbose` or `--json`'],
    ['vitest-default', 'vitest ran 8 tests without naming them: add `--reporter=verbose`, or `--reporter=tap-flat`'],
    ['rspec', 'RSpec ran 6 tests without naming them: add `--format documentation`'],
    ['minitest', 'minitest ran 3 tests without naming them: add `--verbose`'],
    [
      'phpunit',
      'PHPUnit ran 4 tests without naming them: let it write JUnit XML, and name the file in `[tests] reports`',
    ],
  ])('is named if it cannot be read: %s', (output, why) => {
    expect(read(recorded(output)).missed[0]).toBe(why);
  });

  it('may be of several runners in one gate', () => {
    const { tests, missed } = read(recorded('several'));
    expect(shown(tests)).toEqual([...NODE, ...MOCHA, FAKE, ...NODE, FAKE, 'other > adds'].sort());
    expect(missed).toEqual([]);
    const json = read(recorded('several-json'));
    expect(shown(json.tests)).toEqual([...JEST, 'other > adds', ...NODE, FAKE, ...NODE, FAKE].sort());
    const both = read(['pytest-v', 'unittest-v', 'go-v', 'cargo', 'jest-verbose', 'rspec-d'].map(recorded).join('\n'));
    expect(both.tests).toHaveLength(10 + 8 + 12 + 7 + 8 + 6);
  });

  it('is read elsewhere if the runner wrote a report as well', () => {
    const collected = collectTests();
    readTests(recorded('jest'), collected);
    expect(collected.missed()).toHaveLength(1);
    readTests(recorded('jest-json'), collected);
    expect(collected.missed()).toEqual([]);
  });

  it.each([
    ['a report in JUnit XML', '<testsuites><testsuite name="a"><testcase name="b"/>', 'a JUnit report is cut off'],
    [
      'the JSON of jest',
      '{"numTotalTests":2,"testResults":[{"assert',
      'the JSON report of jest or vitest is cut off or not valid',
    ],
    ['TAP', 'TAP version 13\n1..3\nok 1 - a\n', 'a TAP report plans 3 tests, of which 1 could be read'],
  ])('is named if it is cut off: %s', (_format, text, why) => {
    expect(read(text).missed).toEqual([why]);
  });
});

describe('long reports', () => {
  const COUNT = 100_000;
  const lines = (line: (index: number) => string) =>
    Array.from({ length: COUNT }, (_, index) => line(index)).join('\n');

  // In quadratic time, each would take minutes.
  it.each([
    ['subtests of unittest', lines((index) => `  t (a.b${index})`)],
    ['tests of go with one name', `${lines(() => '=== RUN a')}\n${lines(() => '--- PASS: a (0.00s)')}`],
  ])('%s are read in linear time', (_what, text) => {
    expect(read(text).tests).toBeUndefined();
  });
});

describe('names that vary', () => {
  it('are those of the same tests in two runs', () => {
    const [first, second] = ['pytest-vary1', 'pytest-vary2'].map((name) => read(recorded(name)).tests ?? []);
    expect(first?.map(({ name }) => name)).not.toEqual(second?.map(({ name }) => name));
    expect(compareTests(first!, second!)).toMatchObject({ before: 4, after: 4, removed: [], skipped: [] });
    expect(compareTests(first!, second!.slice(1)).removed).toEqual([first![0]!.name]);
  });

  it.each([
    ['f[<function f at 0x7f5d4b1a7ec0>]', 'f[<function f at 0x7f0011aaffee>]', true],
    ['f[560106e2-add5-4e4e-82b8-f29a8ff3c9fb]', 'f[1477ad73-d56d-41a1-8541-7325e81c3f8c]', true],
    ['at 2026-11-29T01:43:46.123Z', 'at 2026-11-30T22:00:01Z', true],
    ['at 01:43:46', 'at 22:00:01', true],
    ['of 1764380626', 'of 1764380999', true],
    ['in /tmp/tmp073s42no', 'in /tmp/tmpx93la0zz', true],
    ['src/lib.rs - add (line 3)', 'src/lib.rs - add (line 14)', true],
    ['returns 0x10', 'returns 0x20', false],
    ['adds 1 and 2', 'adds 1 and 3', false],
    ['reads /etc/hosts', 'reads /etc/group', false],
  ])('%s → %s: %s', (before, after, isSame) => {
    const changes = compareTests([{ name: before, skipped: false }], [{ name: after, skipped: false }]);
    expect(changes.removed).toEqual(isSame ? [] : [before]);
  });
});

describe('text of test changes', () => {
  it('says what was not read instead of counts of nothing', () => {
    const none = { before: 0, after: 0, removed: [], skipped: [], emptied: [], unread: ['pytest ran 2 tests'] };
    expect(testsText(none)).toBe('not read: pytest ran 2 tests');
    expect(testsText({ ...none, before: 3 })).toBe('3 before, 0 after; not read: pytest ran 2 tests');
    expect(changesText(none)).toEqual(['not read: pytest ran 2 tests']);
  });
});
