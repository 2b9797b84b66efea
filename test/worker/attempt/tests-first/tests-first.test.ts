import { describe, expect } from 'vitest';
import { it as base } from '../../../support/fixtures.ts';
import { scripted } from '../../../support/halo/halo.ts';
import { ADD_SUM, HONEST_TESTS, TESTS_COMMAND, testsFirstAgent } from '../../../support/halo/tests-first.ts';
import type { TestRepository } from '../../../support/repository/repository.ts';
import { newRepository } from '../../../support/repository/new-repository.ts';

import { findStoryFindings } from '../../../../src/core/review/story-findings.ts';
import { verify } from '../../../../src/api/runs/verify-commit.ts';
import type { JournalEvent } from '../../../../src/core/journal/events.ts';
import type { FactCheck } from '../../../../src/worker/proof/compare-record.ts';
const it = base.extend('run', ({ halo }) => {
  return (repository: TestRepository, script: string, more: string[] = [], gates = ['true'], first = 'on') => {
    const settings = [`tests.first="${first}"`, TESTS_COMMAND, ...more];
    return halo.run(repository.root, [{ id: 'A' }], scripted(script, gates, settings));
  };
});

describe('a story that begins with its tests', () => {
  it('lands as one commit with tests that failed before it, and verify repeats that', async ({ halo, run }) => {
    const repository = newRepository({});
    const state = await run(repository, testsFirstAgent(HONEST_TESTS, ADD_SUM));
    expect(state).toMatchObject({ stopReason: 'SUCCESS' });
    const [story] = state.stories;
    expect(story!.locked).toMatchObject({ files: [{ path: 'sum.test.mjs' }], cases: ['adds'] });
    const branch = `halo/${state.runId}`;
    expect(repository.git('rev-parse', `${branch}^`)).toBe(state.repo.base);
    expect(repository.git('show', '--format=', '--name-only', branch)).toBe('sum.mjs\nsum.test.mjs');
    const phases = halo.journal(state.runId).flatMap((event) => (event.type === 'phase.started' ? [event.phase] : []));
    expect(phases).toEqual(['prepare', 'tests', 'red', 'agent', 'export', 'import', 'gates', 'land']);
    const folder = `artifacts/${story!.key}/1`;
    expect(halo.readFile(state.runId, `${folder}/tests/prompt.md`)).toContain('Write tests only');
    expect(halo.readFile(state.runId, `${folder}/prompt.md`)).toContain('`sum.test.mjs`. Make them pass.');
    expect(halo.readFile(state.runId, `${folder}/red/1.log`)).toContain('not ok 1 - adds');
    expect(JSON.parse(halo.readFile(state.runId, `${folder}/proof.json`))).toMatchObject({
      tests: { files: [{ path: 'sum.test.mjs' }], cases: ['adds'], green: { exitCode: 0 } },
      gates: [{ command: 'true' }],
    });
    const query = { target: branch, folder: repository.root, trustRecord: true, signal: new AbortController().signal };
    const checks: FactCheck[] = [];
    for await (const verified of verify(halo.host, query)) checks.push(...verified.checks);
    expect(checks.filter(({ ok }) => ok === false)).toEqual([]);
    expect(checks).toContainEqual({ what: 'tests on the base', recorded: 'fail', found: 'fail', ok: true });
    expect(halo.readFile(state.runId, 'agent.log')).toContain('locked: sum.test.mjs (1 failed as they must)');
  });

  it('counts its tests once when the gates run them as well, and the next story is compared with that', async ({
    halo,
  }) => {
    const old = 'import test from "node:test"; test("old", () => {});\n';
    const repository = newRepository({ 'old.test.mjs': old, 'package.json': '{}' });
    const reports = ['tests.reports=["report.tap"]', 'tests.first="on"'];
    const command = 'tests.command="node --test --test-reporter=tap --test-reporter-destination=report.tap {files}"';
    const script = (name: string) =>
      testsFirstAgent(HONEST_TESTS.replaceAll('sum', name), ADD_SUM.replaceAll('sum', name));
    const gates = ['node --test --test-reporter=tap'];
    const agent = `if test -f one.mjs; then ${script('two')}; else ${script('one')}; fi`;
    const settings = scripted(agent, gates, [...reports, command]);
    const state = await halo.run(repository.root, [{ id: 'A' }, { id: 'B' }], settings);
    expect(state).toMatchObject({ stopReason: 'SUCCESS' });
    const compared = halo.journal(state.runId).filter(({ type }) => type === 'tests.compared');
    expect(compared).toMatchObject([
      { story: 'A', before: 1, after: 2, removed: [] },
      { story: 'B', before: 2, after: 3, removed: [] },
    ]);
  });

  it('lands in spite of what is wrong with its tests if that is only reported', async ({ halo, run }) => {
    const state = await run(
      newRepository({}),
      testsFirstAgent(`echo 'import test from "node:test"; test("a", () => {});' > a.test.mjs`, ADD_SUM),
      [],
      ['true'],
      'report',
    );
    expect(state).toMatchObject({ stopReason: 'SUCCESS' });
    expect(halo.readFile(state.runId, 'agent.log')).toContain('before the change: passed before the change');
  });
});

describe('another attempt at a story whose tests are locked', () => {
  const FAILS_ONCE = `if grep -q 'last attempt failed' /tmp/prompt; then ${ADD_SUM} else touch other; fi`;
  const AGAIN = ['retry.attempts=2'];
  const phasesOf = (events: JournalEvent[], attempt: number) =>
    events.flatMap((event) => (event.type === 'phase.started' && event.attempt === attempt ? [event.phase] : []));

  it('uses the same tests, and writes no others', async ({ halo, run }) => {
    const repository = newRepository({});
    const state = await run(repository, testsFirstAgent(HONEST_TESTS, FAILS_ONCE), AGAIN);
    expect(state).toMatchObject({ stopReason: 'SUCCESS', stories: [{ attempts: 2 }] });
    const events = halo.journal(state.runId);
    expect(phasesOf(events, 1)).toEqual(expect.arrayContaining(['tests', 'red', 'gates']));
    expect(phasesOf(events, 2)).toEqual(['prepare', 'agent', 'export', 'import', 'gates', 'land']);
    const locked = events.filter((event) => event.type === 'tests.locked');
    expect(locked).toMatchObject([{ attempt: 1 }, { attempt: 2, from: 1 }]);
    expect(locked[1]!.commit).toBe(locked[0]!.commit);
    expect(locked[1]!.files).toEqual(locked[0]!.files);
    expect(repository.git('show', '--format=', '--name-only', `halo/${state.runId}`)).toBe('sum.mjs\nsum.test.mjs');
    expect(halo.readFile(state.runId, 'agent.log')).toContain('written by attempt 1');
  });

  it('may not change them either', async ({ run }) => {
    const weaker = `if grep -q 'last attempt failed' /tmp/prompt; then ${ADD_SUM} echo > sum.test.mjs; else touch other; fi`;
    const state = await run(newRepository({}), testsFirstAgent(HONEST_TESTS, weaker), AGAIN);
    expect(state).toMatchObject({ stopReason: 'POLICY_VIOLATION', stories: [{ attempts: 2 }] });
  });

  it('writes them again after a retry that asks for new tests', async ({ halo, run }) => {
    const repository = newRepository({});
    const state = await run(repository, testsFirstAgent(HONEST_TESTS, FAILS_ONCE));
    expect(state).toMatchObject({ stopReason: 'GATE_FAILED', stories: [{ keptTests: { attempt: 1 } }] });
    await halo.operations.retry(state.runId, undefined, { newTests: true });
    const ended = await halo.untilEnd(state.runId);
    expect(ended).toMatchObject({ stopReason: 'SUCCESS', stories: [{ keptTests: { attempt: 2 } }] });
    expect(phasesOf(halo.journal(state.runId), 2)).toEqual(expect.arrayContaining(['tests', 'red']));
  });

  it('uses them after the end of the run and a plain retry', async ({ halo, run }) => {
    const state = await run(newRepository({}), testsFirstAgent(HONEST_TESTS, FAILS_ONCE));
    expect(state.stopReason).toBe('GATE_FAILED');
    await halo.operations.retry(state.runId, undefined);
    expect(await halo.untilEnd(state.runId)).toMatchObject({ stopReason: 'SUCCESS' });
    expect(phasesOf(halo.journal(state.runId), 2)).not.toContain('tests');
  });
});

describe('tests that do not fail', () => {
  const PASSES = `echo 'import test from "node:test"; test("a", () => {});' > a.test.mjs`;

  it('have a number of retries of their own, whose prompt says what was seen', async ({ halo, run }) => {
    const tests = `if grep -q 'passed before the change that they test: a' /tmp/prompt; then ${HONEST_TESTS}else ${PASSES}; fi`;
    const state = await run(newRepository({}), testsFirstAgent(tests, ADD_SUM), ['retry.tests.retries=1']);
    expect(state).toMatchObject({ stopReason: 'SUCCESS', stories: [{ attempts: 2 }] });
    const retries = halo.journal(state.runId).filter((event) => event.type === 'retry.scheduled');
    expect(retries).toMatchObject([{ class: 'tests', rule: 'hint', nth: 1, of: 1 }]);
    const folder = `artifacts/${state.stories[0]!.key}/2`;
    expect(halo.readFile(state.runId, `${folder}/tests/prompt.md`)).toContain('TESTS_NOT_RED');
    expect(halo.readFile(state.runId, `${folder}/prompt.md`)).not.toContain('TESTS_NOT_RED');
  });

  it('end the story after these retries', async ({ run }) => {
    const state = await run(newRepository({}), testsFirstAgent(PASSES, ADD_SUM), ['retry.tests.retries=1']);
    expect(state).toMatchObject({ stopReason: 'TESTS_NOT_RED', stories: [{ attempts: 2 }] });
  });

  it('are shown by halo status and halo show if they are only reported', async ({ halo, run }) => {
    const state = await run(newRepository({}), testsFirstAgent(PASSES, ADD_SUM), [], ['true'], 'report');
    const { stories } = (await halo.operations.get(state.runId)).state;
    expect(stories[0]!.testProblems).toEqual([{ step: 'red', why: 'passed before the change that they test: a' }]);
    expect(findStoryFindings(stories[0]!)).toEqual([
      { label: 'unproven', text: 'tests first, before the change: passed before the change that they test: a' },
    ]);
  });
});

describe('tests whose command prints no report', () => {
  const PLAIN = 'tests.command="for each in {files}; do sh $each || exit 1; done"';
  const SCRIPT = ['tests.files=["*.test.sh"]', PLAIN];
  const tests = `echo 'test -f sum.mjs' > sum.test.sh; `;

  it('are red if the command passes without them', async ({ halo, run }) => {
    const state = await run(newRepository({}), testsFirstAgent(tests, ADD_SUM), SCRIPT);
    expect(state).toMatchObject({ stopReason: 'SUCCESS', stories: [{ locked: { cases: [] } }] });
    expect(halo.readFile(state.runId, `artifacts/${state.stories[0]!.key}/1/control/1.log`)).toBe('');
  });

  it('are not red if the command fails without them, too', async ({ run }) => {
    const broken = [SCRIPT[0]!, 'tests.command="test -f never && : {files}"'];
    const state = await run(newRepository({}), testsFirstAgent(tests, ADD_SUM), broken);
    expect(state.stopReason).toBe('TESTS_MISSING');
    expect(state.detail).toContain('the command exits 1 without them as well');
  });
});

describe('the refactoring of a story whose tests pass', () => {
  const REFACTOR = ['tests.refactor=true'];
  /** The agent of a story that ends with this refactoring. */
  const refactoring = (script: string) =>
    testsFirstAgent(
      HONEST_TESTS,
      `if grep -q 'Refactor the implementation' /tmp/prompt; then ${script}; else ${ADD_SUM} fi`,
    );
  const better = `echo 'export function sum(a, b) { return a + b; }' > sum.mjs`;

  it('lands with the story, as one commit with one record', async ({ halo, run }) => {
    const repository = newRepository({});
    const state = await run(repository, refactoring(better), REFACTOR);
    expect(state).toMatchObject({ stopReason: 'SUCCESS', stories: [{ attempts: 1 }] });
    const branch = `halo/${state.runId}`;
    expect(repository.git('rev-parse', `${branch}^`)).toBe(state.repo.base);
    expect(repository.git('show', `${branch}:sum.mjs`)).toContain('function sum');
    const folder = `artifacts/${state.stories[0]!.key}/1`;
    expect(halo.readFile(state.runId, `${folder}/diff.patch`)).toContain('function sum');
    expect(halo.readFile(state.runId, `${folder}/refactor/prompt.md`)).toContain('The story is implemented');
    expect(JSON.parse(halo.readFile(state.runId, `${folder}/proof.json`))).toMatchObject({
      commit: repository.git('rev-parse', branch),
      tests: { cases: ['adds'], green: { exitCode: 0 } },
    });
    const events = halo.journal(state.runId);
    expect(events).toContainEqual(expect.objectContaining({ type: 'refactor.ended', kept: true }));
    const logs = events.flatMap((event) => (event.type === 'gate.ended' ? [event.log] : []));
    expect(logs).toEqual(['gates/1.log', 'gates/2.log', 'refactor/gates/1.log', 'refactor/gates/2.log']);
    for (const log of logs) expect(halo.readFile(state.runId, `${folder}/${log}`)).toBeDefined();
  });

  it.for([
    [
      'breaks a test',
      `echo 'export const sum = () => 0;' > sum.mjs`,
      'GATE_FAILED: 1 test failed: adds; gate exited 1',
    ],
    ['changes a locked test', `${better}; echo >> sum.test.mjs`, 'POLICY_VIOLATION: the tests of the story may not'],
    ['skips a locked test', `echo 'process.exit(0)' > sum.mjs`, 'GATE_FAILED: tests of the story did not run and pass'],
    ['changes nothing', 'true', 'the agent changed nothing'],
    ['gives up', `echo '{"status":"failed","summary":"No idea."}'; exit 0`, 'No idea.'],
    ['adds a link to a file outside', `${better}; ln -s /etc/passwd x`, 'POLICY_VIOLATION'],
  ] as const)('is dropped if its agent %s, and the story lands as it was', async ([, script, why], { halo, run }) => {
    const repository = newRepository({});
    const state = await run(repository, refactoring(script), REFACTOR);
    expect(state).toMatchObject({ stopReason: 'SUCCESS', stories: [{ attempts: 1 }] });
    const branch = `halo/${state.runId}`;
    expect(repository.git('show', `${branch}:sum.mjs`)).toBe('export const sum = (a, b) => a + b;');
    expect(repository.git('show', '--format=', '--name-only', branch)).toBe('sum.mjs\nsum.test.mjs');
    const events = halo.journal(state.runId);
    const ended = events.find((event) => event.type === 'refactor.ended');
    expect(ended).toMatchObject({ kept: false, why: expect.stringContaining(why) as string });
    expect(events.filter((event) => event.type === 'gate.ended').map(({ exitCode }) => exitCode)).toEqual([0, 0]);
    expect(halo.readFile(state.runId, 'agent.log')).toContain(
      script === 'true' ? 'refactoring changed nothing' : 'refactoring dropped: ',
    );
    expect(halo.readFile(state.runId, `artifacts/${state.stories[0]!.key}/1/diff.patch`)).not.toContain('function sum');
  });
});
