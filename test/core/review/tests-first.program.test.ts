import { execFileSync } from 'node:child_process';
import { writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { describe, expect, it } from 'vitest';
import {
  commandFor,
  findChangedLocks,
  findTestsWithoutAsserts,
  findUnprovenTests,
  judgeControl,
  judgeRedRun,
  testGlobsOf,
  testsOfCriterion,
  type RedRun,
} from '../../../src/core/review/tests-first.ts';
import type { CriterionClaim } from '../../../src/core/review/criteria.ts';
import { readTests } from '../../../src/core/test-report/formats/read-tests.ts';
import { tempDir } from '../../support/temp-dir.ts';

const dir = tempDir('halo-tests-first');

const file = { path: 'tests/test_a.py', size: 40 };
const fails = (name: string) => ({ name, skipped: false, failed: true });
const passes = (name: string) => ({ name, skipped: false });
const skipped = (name: string) => ({ name, skipped: true });
const run = (more: Partial<RedRun>): RedRun => ({
  files: [file],
  criteria: 1,
  exitCode: 1,
  tests: [fails('a')],
  ...more,
});

describe('judgeRedRun', () => {
  it.each<[string, Partial<RedRun>, string, string]>([
    ['no file', { files: [] }, 'TESTS_MISSING', 'no test file was written'],
    ['an empty file', { files: [{ ...file, size: 0 }] }, 'TESTS_MISSING', 'empty: tests/test_a.py'],
    ['files that cannot be loaded', { exitCode: 2, tests: [] }, 'TESTS_MISSING', 'could not be loaded'],
    ['only skipped tests', { tests: [skipped('a')] }, 'TESTS_MISSING', 'all tests are skipped'],
    ['fewer tests than criteria', { criteria: 2 }, 'TESTS_MISSING', '1 of at least 2 tests'],
    ['skipped tests in place of some', { criteria: 2, tests: [fails('a'), skipped('b')] }, 'TESTS_MISSING', '1 of at'],
    ['a test that passes', { tests: [fails('a'), passes('true')] }, 'TESTS_NOT_RED', 'test: true'],
    ['exit 0 without a report', { exitCode: 0, tests: null }, 'TESTS_NOT_RED', 'exited 0'],
    ['exit 0 with failed tests', { exitCode: 0 }, 'TESTS_NOT_RED', 'exited 0 although'],
  ])('rejects %s', (_what, more, stopReason, why) => {
    expect(judgeRedRun(run(more))).toEqual({ red: false, stopReason, why: expect.stringContaining(why) as string });
  });

  it('names at most five passing tests, without control characters', () => {
    const tests = Array.from({ length: 7 }, (_, at) => passes(`t${at}\u001b[2J`));
    const verdict = judgeRedRun(run({ tests }));
    expect(verdict).toMatchObject({ why: expect.stringMatching(/ and 2 more$/) as string });
    expect(JSON.stringify(verdict)).not.toContain('\\u001b');
  });

  it('accepts tests that all fail, and names them', () => {
    const tests = [fails('a'), fails('b'), skipped('c')];
    expect(judgeRedRun(run({ criteria: 2, tests }))).toEqual({ red: true, evidence: 'report', cases: ['a', 'b'] });
  });

  it('accepts a failing command without a report by its exit code', () => {
    expect(judgeRedRun(run({ tests: null }))).toEqual({ red: true, evidence: 'exit-code' });
  });

  it('accepts a failed test whose first assertion failed, so that none was counted', () => {
    const failed = { title: 'a', ancestorTitles: [], status: 'failed', numPassingAsserts: 0 };
    const report = JSON.stringify({ testResults: [{ assertionResults: [failed] }] });
    expect(judgeRedRun(run({ tests: readTests(report) ?? null }))).toMatchObject({ red: true });
  });

  it('ignores an empty file beside one with tests', () => {
    const files = [{ path: 'tests/__init__.py', size: 0 }, file];
    expect(judgeRedRun(run({ files }))).toMatchObject({ red: true, cases: ['a'] });
  });

  it('ignores tests of other files that a runner matched as well', () => {
    const other = { ...passes('old'), file: '/workspace/tests/test_a.pyx/old.test.ts' };
    const own = { ...fails('a'), file: `/workspace/${file.path}` };
    const files = [file, { path: 'tests/test_b.py', size: 40 }];
    expect(judgeRedRun(run({ files, tests: [other, own] }))).toEqual({ red: true, evidence: 'report', cases: ['a'] });
  });

  const head = '=========== test session starts ===========\n';
  it.each([
    ['pytest -v', `${head}t.py::a FAILED [50%]\nt.py::b PASSED [99%]\n`, ['t.py::b']],
    ['pytest -rA', `${head}ERROR t.py::a - boom\nPASSED t.py::b\n`, ['t.py::b']],
    ['TAP', 'TAP version 13\nnot ok 1 - a\nok 2 - b\n', ['b']],
    ['the spec reporter of node:test', '✖ a (1ms)\n✔ b (1ms)\nℹ tests 2\n', ['b']],
    ['JUnit XML', '<testsuite><testcase name="a"><error/></testcase><testcase name="b"/></testsuite>', ['b']],
  ])('finds the tests that pass in %s', (_format, text, names) => {
    expect(judgeRedRun(run({ tests: readTests(text) ?? null }))).toMatchObject({
      stopReason: 'TESTS_NOT_RED',
      why: `passed before the change that they test: ${names.join(', ')}`,
    });
  });
});

describe('judgeRedRun with the tests of each criterion', () => {
  const claim = (n: number, tests: string[], holds?: boolean) => ({ n, tests, files: [], holds });
  const tests = [fails('test_a.py::test_sum'), passes('test_a.py::test_greets')];
  const judge = (claims: CriterionClaim[], more: Partial<RedRun> = {}) =>
    judgeRedRun(run({ criteria: 2, tests, claims, ...more }));

  it('accepts a test that passes if its criterion is said to hold already, and names both', () => {
    expect(judge([claim(1, ['test_sum']), claim(2, ['test_greets'], true)])).toEqual({
      red: true,
      evidence: 'report',
      cases: ['test_a.py::test_sum', 'test_a.py::test_greets'],
      holding: ['test_a.py::test_greets'],
      criteria: [
        { n: 1, tests: ['test_a.py::test_sum'] },
        { n: 2, tests: ['test_a.py::test_greets'] },
      ],
    });
  });

  it.each<[string, CriterionClaim[], Partial<RedRun>, string, string]>([
    ['a test without a name', [claim(1, [' ']), claim(2, ['test_greets'], true)], {}, 'TESTS_MISSING', 'criterion 1'],
    [
      'a passing test of a criterion that does not hold',
      [claim(1, ['sum']), claim(2, ['test_greets'])],
      {},
      'TESTS_MISSING',
      'criterion 1',
    ],
    [
      'a passing test',
      [claim(1, ['test_sum']), claim(2, ['test_greets'])],
      {},
      'TESTS_NOT_RED',
      'passed before the change',
    ],
    [
      'a passing test whose name only ends like one that is said to pass',
      [claim(1, ['test_sum']), claim(2, ['greets'], true)],
      {},
      'TESTS_MISSING',
      'criterion 2',
    ],
    ['a criterion without a test', [claim(1, ['test_sum', 'test_greets'])], {}, 'TESTS_MISSING', 'criterion 2'],
    [
      'a criterion whose test is not in the report',
      [claim(1, ['test_sum']), claim(2, ['test_none'])],
      {},
      'TESTS_MISSING',
      'criterion 2',
    ],
    [
      'tests that all pass, whatever is said',
      [claim(1, ['test_a'], true), claim(2, ['test_b'], true)],
      { tests: [passes('test_a'), passes('test_b')], exitCode: 0 },
      'TESTS_NOT_RED',
      'no test failed',
    ],
  ])('rejects %s', (_what, claims, more, stopReason, why) => {
    expect(judge(claims, more)).toEqual({ red: false, stopReason, why: expect.stringContaining(why) as string });
  });

  it.each([
    ['tests/test_a.py::test_sum', 'tests.test_a > test_sum'],
    ['test_sum', 'tests/test_a.py::TestSum::test_sum'],
    ['test_sum', 'tests/test_a.py::test_sum[1-2]'],
    ['cart adds', 'cart > adds'],
    ['cart > adds', 'adds'],
    ['adds', 'adds'],
  ])('takes %j for the reported test %j', (claimed, reported) => {
    const seen = judgeRedRun(run({ tests: [fails(reported)], claims: [claim(1, [claimed])] }));
    expect(seen).toMatchObject({ red: true, criteria: [{ n: 1, tests: [reported] }] });
  });

  it('counts tests if the session names none', () => {
    expect(judgeRedRun(run({ claims: undefined }))).toEqual({ red: true, evidence: 'report', cases: ['a'] });
  });
});

describe('judgeRedRun with a file that cannot be loaded', () => {
  const runNode = (reporter: string, text: string) => {
    writeFileSync(join(dir, 'a.test.mjs'), text);
    const env = { ...process.env, NODE_OPTIONS: '', NODE_TEST_CONTEXT: undefined };
    const args = ['--test', `--test-reporter=${reporter}`, join(dir, 'a.test.mjs')];
    try {
      return execFileSync('node', args, { encoding: 'utf8', env, stdio: ['ignore', 'pipe', 'ignore'] });
    } catch (error) {
      return (error as { stdout: string }).stdout;
    }
  };

  it.each(['tap', 'spec'])('takes no syntax error for a failed test of node:test as %s', (reporter) => {
    const judge = (text: string) =>
      judgeRedRun(run({ files: [{ path: 'a.test.mjs', size: 1 }], tests: readTests(runNode(reporter, text)) ?? null }));
    expect(judge("import test from 'node:test'; test('a', () => {{);")).toMatchObject({
      stopReason: 'TESTS_MISSING',
      why: expect.stringContaining('could not be loaded') as string,
    });
    const real = "import test from 'node:test'; test('adds', () => { throw new Error('no') });";
    expect(judge(real)).toEqual({ red: true, evidence: 'report', cases: ['adds'] });
  });

  it.each([
    ['vitest', '<testcase classname="tests/test_a.py" name="tests/test_a.py"><failure/></testcase>'],
    ['pytest', '<testcase classname="" name="tests.test_a"><error/></testcase>'],
  ])('takes no file for a failed test in the JUnit XML of %s', (_runner, xml) => {
    expect(judgeRedRun(run({ tests: readTests(`<testsuite>${xml}</testsuite>`) ?? null }))).toMatchObject({
      stopReason: 'TESTS_MISSING',
    });
  });
});

describe('findChangedLocks', () => {
  it('finds locked files with another blob, and deleted ones', () => {
    const locked = ['same', 'edited', 'deleted'].map((path) => ({ path, blob: '1' }));
    const blobs = new Map([
      ['same', '1'],
      ['edited', '2'],
      ['other', '1'],
    ]);
    expect(findChangedLocks(locked, blobs)).toEqual(['edited', 'deleted']);
  });
});

describe('findUnprovenTests', () => {
  it.each([
    ['passed', [passes('a'), passes('b')], []],
    ['skipped', [passes('a'), skipped('b')], ['b']],
    ['failed', [passes('a'), fails('b')], ['b']],
    ['left out', [passes('a')], ['b']],
    ['not reported at all', null, ['a', 'b']],
  ])('judges a locked test that is %s', (_what, after, unproven) => {
    expect(findUnprovenTests(['a', 'b'], after)).toEqual(unproven);
  });

  it('includes tests that a configuration marks as expected failures', () => {
    const pytest = readTests('=== test session starts ===\nt.py::a XFAIL [50%]\nt.py::b XPASS [100%]\n')!;
    expect(findUnprovenTests(['t.py::a', 't.py::b'], pytest)).toEqual(['t.py::a', 't.py::b']);
  });

  it('requires each of two tests with the same name', () => {
    expect(findUnprovenTests(['a', 'a'], [passes('a')])).toEqual(['a']);
  });
});

describe('findTestsWithoutAsserts', () => {
  it('finds tests that passed without an assertion, where the report counts them', () => {
    const none = { ...passes('a'), asserts: 0 };
    expect(findTestsWithoutAsserts(['a', 'b', 'c'], [none, { ...passes('b'), asserts: 1 }, passes('c')])).toEqual([
      'a',
    ]);
  });

  it.each([
    [
      'jest',
      '{"numRuntimeErrorTestSuites":0,"testResults":[{"assertionResults":[{"numPassingAsserts":0,"status":"passed","title":"a"}]}]}',
    ],
    ['PHPUnit', '<testsuites><testcase name="a" assertions="0" time="0.1"/></testsuites>'],
  ])('reads the report of %s, also if no test has one', (_runner, report) => {
    expect(findTestsWithoutAsserts(['a'], readTests(report)!)).toEqual(['a']);
  });

  it('finds none in a report of vitest, which does not count', () => {
    const report = '{"testResults":[{"assertionResults":[{"numPassingAsserts":0,"status":"passed","title":"a"}]}]}';
    expect(findTestsWithoutAsserts(['a'], readTests(report)!)).toEqual([]);
  });
});

it.each([
  ['US-001', 'tests/test_US-001.py'],
  ['a b/../*?{x}', 'tests/test_a_b_.._x_.py'],
])('the id %j in a glob of test files is literal', (id, glob) => {
  expect(testGlobsOf(['tests/test_{id}.py'], { id })).toEqual([glob]);
});

it('an empty test file is not part of the command', () => {
  const files = [
    { path: 'tests/__init__.py', blob: 'e69de29bb2d1d6434b8b29ae775ad8c2e48c5391' },
    { path: 'tests/test_a.py', blob: '1' },
  ];
  expect(commandFor({ command: 'pytest {files}', files })).toBe("pytest 'tests/test_a.py'");
});

it('a test file whose name begins with a dash is not an option of the command', () => {
  const files = [
    { path: '-e x.test.js', blob: '1' },
    { path: "a'b.test.js", blob: '2' },
  ];
  expect(commandFor({ command: 'node --test {files}', files })).toBe("node --test './-e x.test.js' 'a'\\''b.test.js'");
});

describe('judgeControl', () => {
  const red = { red: true, evidence: 'exit-code' } as const;
  it.each([
    [1, 0],
    [2, 5],
  ])('accepts tests that exit %i if the command exits %i without them', (code, control) => {
    expect(judgeControl(red, { red: code, control })).toEqual(red);
  });

  it.each([
    [1, 1],
    [1, 127],
    [5, 5],
  ])('rejects tests that exit %i if the command exits %i without them', (code, control) => {
    const why = expect.stringContaining(`exits ${control} without them`) as string;
    expect(judgeControl(red, { red: code, control })).toEqual({ red: false, stopReason: 'TESTS_MISSING', why });
  });
});

it.each<[string, Parameters<typeof testsOfCriterion>[0], readonly string[] | undefined]>([
  ['none are locked', undefined, undefined],
  ['they are named', { cases: ['a', 'b'], criteria: [{ n: 2, tests: ['b'] }] }, ['b']],
  ['only others are named', { cases: ['a', 'b'], criteria: [{ n: 1, tests: ['a'] }] }, undefined],
  ['none are named, and they are enough for all', { cases: ['a', 'b'] }, ['a', 'b']],
  ['none are named, and they are fewer', { cases: ['a'] }, undefined],
])('the locked tests of the second of two criteria, if %s', (_when, locked, tests) => {
  expect(testsOfCriterion(locked, { n: 2, of: 2 })).toEqual(tests);
});
