import { spawnSync } from 'node:child_process';
import { readFileSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { describe, expect, it } from 'vitest';
import { collectTests, type TestCase } from '../../../src/core/test-report/formats/collect-tests.ts';
import { readTests } from '../../../src/core/test-report/formats/read-tests.ts';
import { compareTests, isReportPath } from '../../../src/core/test-report/test-report.ts';
import { tempDir } from '../../support/temp-dir.ts';

const dir = tempDir('halo-report');

/** Names; those that did not run in brackets. */
function names(tests: TestCase[] | undefined): string[] | undefined {
  return tests?.map(({ name, skipped }) => (skipped ? `(${name})` : name));
}

describe('readTests', () => {
  it('reads JUnit XML with anything in its comments and CDATA', () => {
    const xml = `<?xml version="1.0"?><!DOCTYPE x [<!ENTITY a "b">]>
      <testsuites><testsuite name="s" tests="4">
      <testcase classname="a.B" name="adds &lt;1&gt;" time="0.1" assertions="2"/>
      <!-- <testcase name="no"/> -->
      <testcase classname='a.B' name='skips'><skipped message="x"/></testcase>
      <testcase name="fails"><failure><![CDATA[<testcase name="fake"/>]]></failure></testcase>
      <testcase name="off" status="disabled"></testcase>
      </testsuite></testsuites>`;
    expect(names(readTests(xml))).toEqual(['a.B > adds <1>', '(a.B > skips)', 'fails', '(off)']);
    expect(readTests(xml)?.[0]?.asserts).toBe(2);
    expect(readTests('<testsuite><testcase name="cut')).toEqual([]);
  });

  it('reads every name that XML allows, and nothing of a DTD', () => {
    // Recorded with node 20.20.2.
    const recorded = `<testsuites><testcase name="count > 0" classname="test"/><testcase name="count &lt; 0 &amp; 'a' &quot;b&quot;" classname="test"/></testsuites>`;
    expect(names(readTests(recorded))).toEqual(['test > count > 0', `test > count < 0 & 'a' "b"`]);
    const cases = (attributes: string) => names(readTests(`<testsuite><testcase ${attributes}/></testsuite>`));
    expect(cases('name="a &#39;b&#x27; &#x3e; c"')).toEqual(["a 'b' > c"]);
    expect(cases(`name="${'x'.repeat(20_000)}" classname="s"`)?.[0]).toHaveLength(1000);
    const bomb = '<!DOCTYPE t [<!ENTITY a "b"><!ENTITY x SYSTEM "file:///etc/passwd">]>';
    expect(names(readTests(`${bomb}<testsuite><testcase name="&a;&x;"/></testsuite>`))).toEqual(['&a;&x;']);
  });

  it('reads the result of the last test for which there is room', () => {
    const few = collectTests();
    const tests = { ...few, isFull: () => few.found.length >= 2 };
    const failing = (name: string) => `<testcase name="${name}"><failure>no</failure></testcase>`;
    readTests(`<testsuite>${['a', 'b', 'c'].map(failing).join('')}</testsuite>`, tests);
    expect(few.found.map(({ name, failed }) => [name, failed])).toEqual([
      ['a', true],
      ['b', true],
    ]);
  });

  it('reads the JSON of jest and vitest, also below the lines of npm', () => {
    const result = (title: string, status: string, numPassingAsserts = 0) => ({
      ancestorTitles: ['cart'],
      title,
      status,
      numPassingAsserts,
    });
    const report = { testResults: [{ assertionResults: [result('adds', 'passed'), result('waits', 'pending')] }] };
    const text = `\n> shop@1.0.0 test\n> jest --json\n\n${JSON.stringify(report)}\nDone.\n`;
    expect(readTests(text)).toEqual([
      { name: 'cart > adds', skipped: false },
      { name: 'cart > waits', skipped: true },
    ]);
    expect(readTests(`npm\n${JSON.stringify(report, null, 2)}\nDone.\n`)).toHaveLength(2);
    const odd = [{ name: 5, assertionResults: [result('adds', 'passed'), { ...result('b', 'passed'), status: 5 }] }];
    expect(readTests(JSON.stringify({ testResults: odd }))).toEqual([{ name: 'cart > adds', skipped: false }]);
    const counted = { testResults: [{ assertionResults: [result('a', 'passed', 3), result('b', 'passed', 0)] }] };
    expect(readTests(JSON.stringify(counted, null, 2))?.map(({ asserts }) => asserts)).toEqual([3, 0]);
    const unloaded = { name: '/workspace/a.test.ts', status: 'failed', assertionResults: [] };
    const loaded = { name: '/workspace/b.test.ts', status: 'passed', assertionResults: [result('adds', 'passed')] };
    expect(readTests(JSON.stringify({ testResults: [unloaded, loaded] }))).toEqual([
      { name: '/workspace/a.test.ts', file: '/workspace/a.test.ts', skipped: false, failed: true },
      { name: 'cart > adds', file: '/workspace/b.test.ts', skipped: false },
    ]);
  });

  /** The two reports of one run of node:test. */
  function reportsOfNode(source: string): string[] {
    const [path, tap] = [join(dir, 'a.test.mjs'), join(dir, 'a.tap')];
    writeFileSync(path, source);
    const env = { ...process.env, NODE_OPTIONS: '', NODE_TEST_CONTEXT: undefined };
    const reporters = ['--test-reporter=tap', `--test-reporter-destination=${tap}`, '--test-reporter=spec'];
    const args = ['--test', ...reporters, '--test-reporter-destination=stdout', path];
    const { stdout } = spawnSync('node', args, { encoding: 'utf8', env });
    return [readFileSync(tap, 'utf8'), stdout];
  }

  it('reads the output of node:test as tap and as spec', () => {
    const reports = reportsOfNode(
      `import { describe, it, test } from 'node:test';
       describe('cart', () => { it('adds', () => {}); it.skip('later', () => {}); describe('deep', () => { it('is', () => {}); }); });
       test('alone', { todo: true }, () => {});`,
    );
    for (const text of reports)
      expect(names(readTests(text))).toEqual(['cart > adds', '(cart > later)', 'cart > deep > is', '(alone)']);
  });

  it('counts a suite of node:test, as tap and as spec, only if it failed and none of its tests did', () => {
    const reports = reportsOfNode(
      `import { after, describe, it } from 'node:test';
       describe('cart', () => { it('adds', () => { throw new Error(); }); it('is', () => {}); });
       describe('till', () => { after(() => { throw new Error(); }); it('opens', () => {}); });`,
    );
    for (const text of reports)
      expect(readTests(text)?.map(({ name, failed = false }) => [name, failed])).toEqual([
        ['cart > adds', true],
        ['cart > is', false],
        ['till > opens', false],
        ['till', true],
      ]);
  });

  it('reads flat TAP', () => {
    const tap = 'TAP version 14\n1..4\nok 1 - adds\nnot ok 2 subtracts\nok 3 - later # SKIP no time\nok 4 - a # b\n';
    expect(names(readTests(tap))).toEqual(['adds', 'subtracts', '(later)', 'a # b']);
    expect(readTests('TAP version 13\n1..0\n')).toEqual([]);
  });

  // Recorded with vitest 4.1.12.
  it.each([
    [
      'tap',
      'not ok 1 - b.test.mjs\nnot ok 2 - a.test.mjs # time=17.26ms {\n    1..2\n    not ok 1 - adds # time=13.86ms\n    ok 2 - cart # time=0.78ms {\n        1..2\n        ok 1 - counts # time=0.63ms\n        ok 2 - later # SKIP\n    }\n}\n',
    ],
    [
      'tap-flat',
      'not ok 1 - b.test.mjs\nnot ok 2 - a.test.mjs > adds # time=10.08ms\nok 3 - a.test.mjs > cart > counts # time=0.68ms\nok 4 - a.test.mjs > cart > later # SKIP\n',
    ],
  ])('reads the reporter %s of vitest, without times in the names', (_reporter, text) => {
    expect(readTests(`TAP version 13\n1..2\n${text}`)).toEqual([
      { name: 'b.test.mjs', skipped: false, failed: true },
      { name: 'a.test.mjs > adds', skipped: false, failed: true },
      { name: 'a.test.mjs > cart > counts', skipped: false },
      { name: 'a.test.mjs > cart > later', skipped: true },
    ]);
  });

  it('reads pytest with -v and with -rA', () => {
    const head = '=========== test session starts ===========\n';
    const verbose = 't/test_a.py::test_x PASSED   [ 50%]\nt/test_a.py::test_y[a b] SKIPPED (no) [100%]\n';
    expect(names(readTests(head + verbose))).toEqual(['t/test_a.py::test_x', '(t/test_a.py::test_y[a b])']);
    // A skipped test has only a place there, which moves with each line above it.
    const summary = 'PASSED t/test_a.py::test_x\nFAILED t/test_a.py::test_z - boom\nSKIPPED [1] t/test_a.py:4: no\n';
    expect(names(readTests(head + summary))).toEqual(['t/test_a.py::test_x', 't/test_a.py::test_z']);
  });

  // Recorded with pytest 9.0.3, jest 30.5.2 and node 20.20.2.
  it.each([
    [
      'pytest -v',
      '=== test session starts ===\nt.py::a XFAIL   [ 50%]\nt.py::b XPASS   [100%]\n',
      ['t.py::a', 't.py::b'],
    ],
    ['pytest -rA', '=== test session starts ===\nXFAIL t.py::a\nXPASS t.py::b\n', ['t.py::a', 't.py::b']],
    [
      'the JUnit XML of pytest',
      '<testsuites><testsuite><testcase classname="t" name="a"><skipped type="pytest.xfail" message="" /></testcase></testsuite></testsuites>',
      ['t > a'],
    ],
    [
      'the JSON of jest',
      '{"testResults":[{"assertionResults":[{"ancestorTitles":[],"failing":true,"numPassingAsserts":0,"status":"passed","title":"a"}]}]}',
      ['a'],
    ],
    ['TAP', 'TAP version 13\nnot ok 1 - a # TODO later\nok 2 - b # TODO\n1..2\n', ['a', 'b']],
    ['the spec reporter of node:test', '✖ a (1ms) # later\n✔ b (1ms) # TODO\nℹ tests 2\n', ['a', 'b']],
    [
      'the JUnit XML of node:test',
      '<testsuites><testcase name="a" classname="test"><skipped type="todo" message="later"/><failure/></testcase></testsuites>',
      ['test > a'],
    ],
  ])('takes a test that is expected to fail as one that did not run, in %s', (_format, text, expected) => {
    expect(names(readTests(text))).toEqual(expected.map((name) => `(${name})`));
  });

  it.each(['', 'ok\n', 'all good\nok 1\n', '{"a":1}\n', '✔ built\n', '<html></html>'])(
    'finds no tests in %j',
    (text) => {
      expect(readTests(text)).toBeUndefined();
    },
  );

  it('reads hostile text in bounded time', () => {
    const xml = [
      '<testsuite><testcase name="',
      '<testsuite>',
      '<testsuite a="&',
      '<testsuite a="" b="',
      '<testsuite/>',
    ];
    for (const text of [...xml.map((each) => each.repeat(500_000)), 'TAP version 13\n' + ' '.repeat(200_000)]) {
      expect(readTests(text)).toBeDefined();
    }
  });
});

describe('compareTests', () => {
  const test = (name: string, more: Partial<TestCase> = {}): TestCase => ({ name, skipped: false, ...more });

  it('distinguishes removed, skipped and emptied tests from unchanged ones', () => {
    const before = [test('a'), test('b'), test('c', { asserts: 2 }), test('d', { skipped: true }), test('e')];
    const after = [test('a'), test('b', { skipped: true }), test('c', { asserts: 0 }), test('d'), test('new')];
    expect(compareTests(before, after)).toEqual({
      before: 5,
      after: 5,
      removed: ['e'],
      skipped: ['b'],
      emptied: ['c'],
    });
  });

  it('takes a test that a configuration marks as an expected failure for skipped', () => {
    const head = '=== test session starts ===\n';
    const [before, after] = ['PASSED', 'XFAIL'].map((outcome) => readTests(`${head}t.py::a ${outcome} [100%]\n`)!);
    expect(compareTests(before!, after!).skipped).toEqual(['t.py::a']);
  });

  it('counts tests with the same name', () => {
    expect(compareTests([test('a'), test('a')], [test('a')]).removed).toEqual(['a']);
    expect(compareTests([test('a')], [test('a'), test('a')])).toMatchObject({ removed: [], skipped: [] });
  });
});

it.each([
  ['out/junit report+1.xml', true],
  ['a/../b.xml', false],
  ['/a.xml', false],
  ['a.xml; b', false],
  ['a.xml$(b)', false],
])('%j as the path of a report is accepted: %s', (path, accepted) => {
  expect(isReportPath(path)).toBe(accepted);
});
