import { describe, expect } from 'vitest';
import { it as base } from '../../../support/fixtures.ts';
import { scripted } from '../../../support/halo/halo.ts';
import { ADD_SUM, HONEST_TESTS, TESTS_COMMAND, testsFirstAgent } from '../../../support/halo/tests-first.ts';
import type { TestRepository } from '../../../support/repository/repository.ts';
import { newRepository } from '../../../support/repository/new-repository.ts';

import type { JournalEvent } from '../../../../src/core/journal/events.ts';
const PASSES = `echo 'import test from "node:test"; test("a", () => {});' > a.test.mjs`;

/** A story of its own run, without gates of the project unless they are given. */
const it = base
  .extend('run', { scope: 'file' }, ({ halo }) => {
    return (repository: TestRepository, script: string, more: string[] = [], gates: string[] = [], first = 'on') => {
      const settings = [`tests.first="${first}"`, 'tests.baseline="never"', TESTS_COMMAND, ...more];
      return halo.run(repository.root, [{ id: 'A' }], scripted(script, gates, settings));
    };
  })
  .extend('unproven', { scope: 'file' }, ({ halo }) => {
    const tests = `if grep -q 'passed before the change that they test: a' /tmp/prompt && head -n 1 /tmp/prompt | grep -q '"A"'; then ${HONEST_TESTS}else ${PASSES}; fi`;
    const settings = ['tests.first="on"', TESTS_COMMAND, 'retry.tests.retries=1'];
    const agent = testsFirstAgent(tests, ADD_SUM);
    return halo.run(newRepository({}).root, [{ id: 'A' }, { id: 'B' }], scripted(agent, [], settings));
  });

describe('a story that begins with its tests', () => {
  it('counts its tests once when the gates run them as well, and the next story is compared with that', async ({
    halo,
  }) => {
    const old = 'import test from "node:test"; test("old", () => {});\n';
    const repository = newRepository({ 'old.test.mjs': old, 'package.json': '{}' });
    const reports = ['tests.reports=["report.tap"]', 'tests.first="on"', 'tests.baseline="auto"'];
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
});

describe('another attempt at a story whose tests are locked', () => {
  const phasesOf = (events: JournalEvent[], attempt: number) =>
    events.flatMap((event) => (event.type === 'phase.started' && event.attempt === attempt ? [event.phase] : []));

  it('writes them again after a retry that asks for new tests', async ({ halo, run }) => {
    const repository = newRepository({});
    const code = `if grep -q 'last attempt failed' /tmp/prompt; then ${ADD_SUM} else touch other; fi`;
    const state = await run(repository, testsFirstAgent(HONEST_TESTS, code));
    expect(state).toMatchObject({ stopReason: 'GATE_FAILED', stories: [{ keptTests: { attempt: 1 } }] });
    await halo.operations.retry({ runId: state.runId, newTests: true });
    const ended = await halo.untilEnd(state.runId);
    expect(ended).toMatchObject({ stopReason: 'SUCCESS', stories: [{ keptTests: { attempt: 2 } }] });
    expect(phasesOf(halo.journal(state.runId), 2)).toEqual(expect.arrayContaining(['tests', 'red']));
  });
});

describe('tests that do not fail', () => {
  it('have a number of retries of their own, whose prompt says what was seen', ({ halo, unproven }) => {
    const { runId, stories } = unproven;
    expect(stories[0]).toMatchObject({ progress: 'passed', attempts: 2 });
    const retries = halo.journal(runId).filter((event) => event.type === 'retry.scheduled' && event.story === 'A');
    expect(retries).toMatchObject([{ class: 'tests', rule: 'hint', nth: 1, of: 1 }]);
    const folder = `artifacts/${stories[0]!.key}/2`;
    expect(halo.readFile(runId, `${folder}/tests/prompt.md`)).toContain('TESTS_NOT_RED');
    expect(halo.readFile(runId, `${folder}/prompt.md`)).not.toContain('TESTS_NOT_RED');
  });

  it('end the story after these retries', ({ unproven }) => {
    expect(unproven.stories[1]).toMatchObject({ progress: 'failed', stopReason: 'TESTS_NOT_RED', attempts: 2 });
  });
});

describe('tests whose command prints no report', () => {
  const PLAIN = 'tests.command="for each in {files}; do sh $each || exit 1; done"';
  const SCRIPT = ['tests.files=["*.test.sh"]', PLAIN];
  const tests = `echo 'test -f sum.mjs' > sum.test.sh; `;

  it('are not red if the command fails without them, too', async ({ run }) => {
    const broken = [SCRIPT[0]!, 'tests.command="test -f never && : {files}"'];
    const state = await run(newRepository({}), testsFirstAgent(tests, ADD_SUM), broken);
    expect(state.stopReason).toBe('TESTS_MISSING');
    expect(state.detail).toContain('the command exits 1 without them as well');
  });
});
