import { describe, expect } from 'vitest';
import type { StopReason } from '../../../src/core/failure/stop-reason.ts';
import type { RunState } from '../../../src/core/run/state.ts';
import { it as base } from '../../support/fixtures.ts';
import { skipFor } from '../../support/skip.ts';
import { belowFull, casesAtLevel } from '../../support/suite/level.ts';
import { scripted } from '../../support/halo/halo.ts';
import { ADD_SUM, HONEST_TESTS, TESTS_COMMAND, testsFirstAgent } from '../../support/halo/tests-first.ts';
import type { TestRepository } from '../../support/repository/repository.ts';
import { newRepository } from '../../support/repository/new-repository.ts';

const it = base.extend('run', ({ halo }) => {
  return (repository: TestRepository, script: string, more: string[] = [], gates = ['true'], first = 'on') => {
    const settings = [`tests.first="${first}"`, TESTS_COMMAND, ...more];
    return halo.run(repository.root, [{ id: 'A' }], scripted(script, gates, settings));
  };
});

type Attack = readonly [name: string, tests: string, code: string, reason: StopReason, why: string];
type Run = (repository: TestRepository, script: string) => Promise<RunState>;

async function expectNotLanded([, tests, code, reason, why]: Attack, run: Run): Promise<void> {
  const repository = newRepository({});
  const state = await run(repository, testsFirstAgent(tests, code));
  expect(state.detail).toContain(why);
  expect(state).toMatchObject({ stopReason: reason });
  expect(repository.git('for-each-ref', 'refs/heads/halo')).toBe('');
}

describe('incident tests-not-red: the tests that are written first', () => {
  const test = (body: string) => `printf 'import test from "node:test";\\n${body}\\n' > a.test.mjs`;
  const lean: Attack[] = [
    ['asserts true', test('test("a", () => {});'), ADD_SUM, 'TESTS_NOT_RED', 'passed before the change'],
    ['writes product code with its tests', `${HONEST_TESTS}${ADD_SUM}`, ADD_SUM, 'POLICY_VIOLATION', 'sum.mjs (add)'],
  ];
  const rest: Attack[] = [
    ['writes no test', 'true', 'true', 'TESTS_MISSING', 'no test file was written'],
    ['writes an empty file', ': > a.test.mjs', ADD_SUM, 'TESTS_MISSING', 'empty: a.test.mjs'],
    [
      'writes a file that cannot be loaded',
      test('import "./none.mjs";'),
      ADD_SUM,
      'TESTS_MISSING',
      'could not be loaded',
    ],
    ['skips its tests', test('test.skip("a", () => {});'), ADD_SUM, 'TESTS_MISSING', 'all tests are skipped'],
  ];
  it.for(casesAtLevel(lean, rest))('do not let a story land if its agent %s', (attack, { run }) =>
    expectNotLanded(attack, run),
  );
});

describe('incident tests-changed: locked tests', () => {
  const lean: Attack[] = [
    [
      'edits a locked test',
      HONEST_TESTS,
      `${ADD_SUM} echo >> sum.test.mjs`,
      'POLICY_VIOLATION',
      'may not be changed: sum.test.mjs',
    ],
  ];
  const rest: Attack[] = [
    [
      'replaces it by a link',
      HONEST_TESTS,
      `${ADD_SUM} mv sum.test.mjs x; ln -s x sum.test.mjs`,
      'POLICY_VIOLATION',
      'may not be',
    ],
    ['removes a locked test', HONEST_TESTS, `${ADD_SUM} rm sum.test.mjs`, 'POLICY_VIOLATION', 'may not be changed'],
    [
      'renames a locked test',
      HONEST_TESTS,
      `${ADD_SUM} mv sum.test.mjs b.test.mjs`,
      'POLICY_VIOLATION',
      'may not be changed',
    ],
  ];
  it.for(casesAtLevel(lean, rest))('do not let a story land if its agent %s', (attack, { run }) =>
    expectNotLanded(attack, run),
  );
});

describe('incident tests-changed: locked tests that a refactoring changes', () => {
  it('stay as they are in what lands', async ({ run }) => {
    const repository = newRepository({});
    const code = `if grep -q 'Refactor the implementation' /tmp/prompt; then echo > sum.test.mjs; else ${ADD_SUM} fi`;
    const state = await run(repository, testsFirstAgent(HONEST_TESTS, code), ['tests.refactor=true']);
    expect(state.stopReason).toBe('SUCCESS');
    expect(repository.git('show', `halo/${state.runId}:sum.test.mjs`)).toContain('assert.equal(sum(1, 2), 3)');
  });
});

describe('incident tests-skipped: locked tests that do not run', () => {
  const lean: Attack[] = [
    [
      'makes the runner exit 0',
      HONEST_TESTS,
      `echo 'process.exit(0)' > sum.mjs`,
      'GATE_FAILED',
      'did not run and pass',
    ],
  ];
  const rest: Attack[] = [['implements nothing', HONEST_TESTS, 'touch other', 'GATE_FAILED', 'gate exited 1']];
  it.for(casesAtLevel(lean, rest))('do not let a story land if its agent %s', (attack, { run }) =>
    expectNotLanded(attack, run),
  );

  it('do not let a story land that adds a configuration which skips them', skipFor(belowFull()), async ({ run }) => {
    const repository = newRepository({ 'run.sh': 'node --test --test-reporter=tap "$@"' });
    const state = await run(
      repository,
      testsFirstAgent(HONEST_TESTS, 'echo "echo TAP version 13; echo 1..0" > run.sh'),
      ['tests.command="sh run.sh {files}"'],
    );
    expect(state.detail).toContain('did not run and pass after its change: adds');
    expect(state.stopReason).toBe('GATE_FAILED');
  });

  it('do not let a story land with a report of its own in place of the runner’s', async ({ run }) => {
    const forged = `<testsuite><testcase name="adds" classname="test"/></testsuite>`;
    const repository = newRepository({ 'run.sh': 'node --test --test-reporter=junit "$@" > report.xml' });
    const state = await run(
      repository,
      testsFirstAgent(HONEST_TESTS, `echo true > run.sh; echo '${forged}' > report.xml`),
      ['tests.command="sh run.sh {files}"', 'tests.reports=["report.xml"]'],
    );
    expect(state.detail).toContain('did not run and pass after its change: ');
    expect(state.stopReason).toBe('GATE_FAILED');
  });

  it('are not named by an old report in the repository', skipFor(belowFull()), async ({ run }) => {
    const repository = newRepository({
      'run.sh': 'exit 1',
      'report.xml': '<testsuite><testcase name="adds"><failure/></testcase></testsuite>',
    });
    const state = await run(repository, testsFirstAgent(HONEST_TESTS, ADD_SUM), [
      'tests.command="sh run.sh {files}"',
      'tests.reports=["report.xml"]',
    ]);
    expect(state.detail).toContain('no report names them');
    expect(state.stopReason).toBe('TESTS_MISSING');
  });
});
