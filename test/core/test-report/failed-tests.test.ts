import { readFileSync } from 'node:fs';
import { join } from 'node:path';
import { describe, expect, it } from 'vitest';
import { describeFailedTests, failedTestsLines, findFailedTests } from '../../../src/core/test-report/failed-tests.ts';

const printed = (runner: string) =>
  readFileSync(join(import.meta.dirname, 'fixtures/failed-tests', `${runner}.txt`), 'utf8');

describe('failed tests are found, with place and reason, in the output of', () => {
  it.each([
    ['tap', 2, 'renders the page  test/page.test.js:4', 'The input did not match the regular expression'],
    ['spec', 2, 'renders the page  test/page.test.js:4', 'AssertionError [ERR_ASSERTION]: The input did not match'],
    ['vitest', 1, 'page > renders  a.test.ts:2', "AssertionError: expected 'Total: 12.3' to be 'Total: 12.34'"],
    ['jest', 1, 'page › renders  x.test.js:1', 'expect(received).toBe(expected)'],
    ['mocha', 1, 'page > renders  m/x.js:1', 'AssertionError [ERR_ASSERTION]: 1 == 2'],
    ['pytest', 1, 'test_add  p/test_x.py:5', 'AssertionError: sum'],
    ['unittest', 1, 'test_a (__main__.T.test_a)  t_test.py:4', 'AssertionError: 1 != 2'],
    ['cargo', 1, 'tests::adds  src/lib.rs:1', 'assertion `left == right` failed: sum'],
    ['go', 1, 'TestAdd  add_test.go:12', 'add_test.go:12: got 3, want 2'],
  ])('%s', (runner, count, first, reason) => {
    const found = findFailedTests(printed(runner));
    expect(found).toMatchObject({ count });
    const lines = found === undefined ? [] : failedTestsLines(found);
    expect(lines[0]).toBe(`✗ ${first}`);
    expect(lines[1]).toContain(`  ${reason}`);
  });
});

it.each(['spec-long', 'tap-long'])(
  'the place of a failure is its assertion, not the start of the test: %s',
  (printedBy) => {
    const [first] = failedTestsLines(findFailedTests(printed(printedBy))!);
    expect(first).toBe('✗ adds  test/cart.test.mjs:5');
  },
);

describe('a test file that cannot be loaded has the printed error, with file and line', () => {
  const error = [
    'file:///workspace/test/cart.test.mjs:4',
    "import { total } from './x.mjs';",
    '         ^^^^^',
    "SyntaxError: Identifier 'total' has already been declared",
    '    at compileSourceTextModule (node:internal/modules/esm/utils:346:16)',
  ];
  const [name, says] = ['/workspace/test/cart.test.mjs', "SyntaxError: Identifier 'total' has already been declared"];
  const tap = (failed: string) =>
    `not ok 1 - ${failed}\n  ---\n  location: '${failed}:1:1'\n  error: 'test failed'\n  ...\n`;
  it.each([
    ['tap', `TAP version 13\n${error.map((line) => `# ${line}`).join('\n')}\n${tap(name)}`],
    [
      'spec',
      `${error.join('\n')}\n✖ failing tests:\n\ntest at test/cart.test.mjs:1:1\n✖ ${name} (45ms)\n  'test failed'\n`,
    ],
  ])('%s', (_runner, output) => {
    const found = findFailedTests(output);
    expect(found?.tests).toEqual([{ name, place: 'test/cart.test.mjs:4', message: says }]);
    expect(describeFailedTests(found!)).toBe(`1 test failed: test/cart.test.mjs:4: ${says}`);
  });

  it('and none that is of another file', () => {
    const other = '/workspace/test/other.test.mjs';
    const found = findFailedTests(`TAP version 13\n${error.join('\n')}\n${tap(name)}${tap(other)}`);
    expect(found?.tests.map(({ message }) => message)).toEqual([says, 'test failed']);
  });
});

it('finds those of a run of jest after one that passed', () => {
  const passed = 'PASS a/x.test.js\n\nTest Suites: 1 passed, 1 total\n';
  const failed =
    'FAIL b/y.test.js\n  ● page › renders\n\n    expect(received).toBe(expected)\n\nTest Suites: 1 failed\n';
  expect(findFailedTests(`${passed}${failed}`)).toMatchObject({ count: 1, tests: [{ name: 'page › renders' }] });
});

it('shows the lines of a message in TAP without the values that follow', () => {
  for (const more of ['', "  code: 'E'\n"]) {
    const text = `TAP version 13\nnot ok 1 - adds\n  ---\n  error: |-\n    is 1\n    \n    not 2\n${more}  ...\n`;
    expect(findFailedTests(text)?.tests).toMatchObject([{ name: 'adds', message: 'is 1\nnot 2' }]);
  }
});

it('finds none in the output of other programs, or if every test passed', () => {
  const passed = 'TAP version 13\nok 1 - adds\nnot ok 2 - later # TODO\n1..2\n';
  for (const text of ['', 'error: no such file\n', passed]) expect(findFailedTests(text)).toBeUndefined();
});

it('reads colored output, and removes its escape sequences', () => {
  const text =
    '\u001b[31m⎯⎯ Failed Tests 1 ⎯⎯\u001b[39m\n\u001b[2K\u001b[1G FAIL  a.test.ts > \u001b[1madds\u001b[0m\u001b]0;x\u0007\nError: no\n';
  const lines = failedTestsLines(findFailedTests(text) ?? { count: 0, tests: [] });
  expect(lines.join('\n')).toContain('✗ adds');
  expect(lines.join('\n')).not.toMatch(/\u001b|\u0007/);
});

it('reads long output with many errors in bounded time', () => {
  // Otherwise it would take minutes.
  const errors = `Error: x\n${'a.'.repeat(1000)}\n`.repeat(50_000);
  expect(findFailedTests(`TAP version 13\nnot ok 1 - a.test.js\n${errors}`)).toMatchObject({ count: 1 });
});

it('shows at most five, truncated, and counts the others of a hostile test', () => {
  const many = Array.from({ length: 50_000 }, (_, index) => `not ok ${index + 1} - test ${index} ${'x'.repeat(500)}\n`);
  const found = findFailedTests(`TAP version 13\n${many.join('')}`);
  expect(found).toMatchObject({ count: 50_000 });
  expect(found?.tests).toHaveLength(5);
  expect(JSON.stringify(found).length).toBeLessThan(5_000);
  expect(describeFailedTests(found!)).toMatch(/^50000 tests failed: .*, …$/);
  expect(failedTestsLines(found!).at(-1)).toBe('… and 49995 more');
});
