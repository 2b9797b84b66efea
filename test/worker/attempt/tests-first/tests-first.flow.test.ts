import { describe, expect } from 'vitest';
import { casesAtLevel } from '../../../support/suite/level.ts';
import { it as base } from '../../../support/fixtures.ts';
import { scripted } from '../../../support/halo/halo.ts';
import { ADD_SUM, HONEST_TESTS, TESTS_COMMAND, testsFirstAgent } from '../../../support/halo/tests-first.ts';
import type { TestRepository } from '../../../support/repository/repository.ts';
import { newRepository } from '../../../support/repository/new-repository.ts';

import { findStoryFindings } from '../../../../src/core/review/story-findings.ts';
import { verify } from '../../../../src/api/runs/verify-commit.ts';
import type { JournalEvent } from '../../../../src/core/journal/events.ts';
import type { FactCheck } from '../../../../src/worker/proof/compare-record.ts';
const PASSES = `echo 'import test from "node:test"; test("a", () => {});' > a.test.mjs`;

const REFACTOR = ['tests.refactor=true'];
const better = `echo 'export function sum(a, b) { return a + b; }' > sum.mjs`;

/** The agent of a story that ends with this refactoring. */
const refactoring = (script: string) =>
  testsFirstAgent(
    HONEST_TESTS,
    `if grep -q 'Refactor the implementation' /tmp/prompt; then ${script}; else ${ADD_SUM} fi`,
  );

/** What an agent does instead of a good refactoring, in which story, how, and why it is dropped. */
const DROPPED = casesAtLevel<readonly [name: string, id: string, script: string, why: string]>(
  [
    [
      'breaks a test',
      'breaks',
      `echo 'export const sum = () => 0;' > sum.mjs`,
      'GATE_FAILED: 1 test failed: adds; gate exited 1',
    ],
    [
      'changes a locked test',
      'weakens',
      `${better}; echo >> sum.test.mjs`,
      'POLICY_VIOLATION: the tests of the story may not',
    ],
    ['changes nothing', 'idles', 'true', 'the agent changed nothing'],
  ],
  [
    [
      'skips a locked test',
      'skips',
      `echo 'process.exit(0)' > sum.mjs`,
      'GATE_FAILED: tests of the story did not run and pass',
    ],
    ['gives up', 'stops', `echo '{"status":"failed","summary":"No idea."}'; exit 0`, 'No idea.'],
    ['adds a link to a file outside', 'links', `${better}; ln -s /etc/passwd x`, 'POLICY_VIOLATION'],
  ],
);

/** A story of its own run, without gates of the project unless they are given. */
const it = base
  .extend('run', { scope: 'file' }, ({ halo }) => {
    return (repository: TestRepository, script: string, more: string[] = [], gates: string[] = [], first = 'on') => {
      const settings = [`tests.first="${first}"`, 'tests.baseline="never"', TESTS_COMMAND, ...more];
      return halo.run(repository.root, [{ id: 'A' }], scripted(script, gates, settings));
    };
  })
  .extend('reported', { scope: 'file' }, ({ run }) =>
    run(newRepository({}), testsFirstAgent(PASSES, ADD_SUM), [], [], 'report'),
  )
  .extend('again', { scope: 'file' }, async ({ halo, run }) => {
    const repository = newRepository({});
    const code = `if grep -q POLICY_VIOLATION /tmp/prompt; then ${ADD_SUM}
elif grep -q 'last attempt failed' /tmp/prompt; then ${ADD_SUM} echo > sum.test.mjs; else touch other; fi`;
    const ended = await run(repository, testsFirstAgent(HONEST_TESTS, code), ['retry.attempts=2']);
    await halo.operations.retry(ended.runId, undefined);
    return { repository, ended, state: await halo.untilEnd(ended.runId) };
  })
  .extend('unproven', { scope: 'file' }, ({ halo }) => {
    const tests = `if grep -q 'passed before the change that they test: a' /tmp/prompt && head -n 1 /tmp/prompt | grep -q '"A"'; then ${HONEST_TESTS}else ${PASSES}; fi`;
    const settings = ['tests.first="on"', TESTS_COMMAND, 'retry.tests.retries=1'];
    const agent = testsFirstAgent(tests, ADD_SUM);
    return halo.run(newRepository({}).root, [{ id: 'A' }, { id: 'B' }], scripted(agent, [], settings));
  })
  .extend('refactored', { scope: 'file' }, async ({ halo }) => {
    const repository = newRepository({});
    const branches = DROPPED.map(
      ([, id, script]) => `*'"${id}"'*) ${refactoring(script).replaceAll(/\bsum\b/g, id)};;`,
    );
    const agent = `cat > /tmp/all; exec < /tmp/all; case "$(head -n 1 /tmp/all)" in ${branches.join('\n')} esac`;
    const stories = DROPPED.map(([, id]) => ({ id }));
    const settings = scripted(agent, [], ['tests.first="on"', TESTS_COMMAND, ...REFACTOR]);
    return { repository, state: await halo.run(repository.root, stories, settings) };
  });

describe('a story that begins with its tests', () => {
  it('lands as one commit with tests that failed before it, and verify repeats that', async ({ halo, run }) => {
    const repository = newRepository({});
    const state = await run(repository, testsFirstAgent(HONEST_TESTS, ADD_SUM), [], ['true']);
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

  it('lands in spite of what is wrong with its tests if that is only reported', ({ halo, reported }) => {
    expect(reported).toMatchObject({ stopReason: 'SUCCESS' });
    expect(halo.readFile(reported.runId, 'agent.log')).toContain('before the change: passed before the change');
  });
});

describe('another attempt at a story whose tests are locked', () => {
  const phasesOf = (events: JournalEvent[], attempt: number) =>
    events.flatMap((event) => (event.type === 'phase.started' && event.attempt === attempt ? [event.phase] : []));

  it('uses the same tests, and writes no others', ({ halo, again }) => {
    const { repository, state } = again;
    const events = halo.journal(state.runId);
    expect(phasesOf(events, 1)).toEqual(expect.arrayContaining(['tests', 'red', 'gates']));
    for (const attempt of [2, 3])
      expect(phasesOf(events, attempt).slice(0, 4)).toEqual(['prepare', 'agent', 'export', 'import']);
    const locked = events.filter((event) => event.type === 'tests.locked');
    expect(locked).toMatchObject([{ attempt: 1 }, { attempt: 2, from: 1 }, { attempt: 3, from: 1 }]);
    for (const each of locked) expect(each).toMatchObject({ commit: locked[0]!.commit, files: locked[0]!.files });
    expect(repository.git('show', '--format=', '--name-only', `halo/${state.runId}`)).toBe('sum.mjs\nsum.test.mjs');
    expect(halo.readFile(state.runId, 'agent.log')).toContain('written by attempt 1');
  });

  it('may not change them either', ({ again }) => {
    expect(again.ended).toMatchObject({ stopReason: 'POLICY_VIOLATION', stories: [{ attempts: 2 }] });
  });

  it('writes them again after a retry that asks for new tests', async ({ halo, run }) => {
    const repository = newRepository({});
    const code = `if grep -q 'last attempt failed' /tmp/prompt; then ${ADD_SUM} else touch other; fi`;
    const state = await run(repository, testsFirstAgent(HONEST_TESTS, code));
    expect(state).toMatchObject({ stopReason: 'GATE_FAILED', stories: [{ keptTests: { attempt: 1 } }] });
    await halo.operations.retry(state.runId, undefined, { newTests: true });
    const ended = await halo.untilEnd(state.runId);
    expect(ended).toMatchObject({ stopReason: 'SUCCESS', stories: [{ keptTests: { attempt: 2 } }] });
    expect(phasesOf(halo.journal(state.runId), 2)).toEqual(expect.arrayContaining(['tests', 'red']));
  });

  it('uses them after the end of the run and a plain retry', ({ halo, again }) => {
    expect(again.state).toMatchObject({ stopReason: 'SUCCESS', stories: [{ attempts: 3 }] });
    const phases = ['prepare', 'agent', 'export', 'import', 'gates', 'land'];
    expect(phasesOf(halo.journal(again.state.runId), 3)).toEqual(phases);
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

  it('are shown by halo status and halo show if they are only reported', async ({ halo, reported }) => {
    const { stories } = (await halo.operations.get(reported.runId)).state;
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
  it('lands with the story, as one commit with one record', async ({ halo, run }) => {
    const repository = newRepository({});
    const state = await run(repository, refactoring(better), REFACTOR, ['true']);
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

  it.for(DROPPED)(
    'is dropped if its agent %s, and the story lands as it was',
    ([, id, , why], { halo, refactored }) => {
      const { repository, state } = refactored;
      const story = state.stories.find((each) => each.id === id)!;
      expect(story).toMatchObject({ progress: 'passed', attempts: 1 });
      const commit = story.commit!;
      expect(repository.git('show', `${commit}:${id}.mjs`)).toBe(`export const ${id} = (a, b) => a + b;`);
      expect(repository.git('show', '--format=', '--name-only', commit)).toBe(`${id}.mjs\n${id}.test.mjs`);
      const events = halo.journal(state.runId).filter((event) => 'story' in event && event.story === id);
      const ended = events.find((event) => event.type === 'refactor.ended');
      expect(ended).toMatchObject({ kept: false, why: expect.stringContaining(why) as string });
      expect(events.filter((event) => event.type === 'gate.ended').map(({ exitCode }) => exitCode)).toEqual([0]);
      const logged = id === 'idles' ? /refactoring changed nothing/ : /refactoring dropped: /;
      const lines = halo.readFile(state.runId, 'agent.log').split('\n');
      expect(lines.filter((line) => line.includes(` ${id} `) && logged.test(line))).toHaveLength(1);
      expect(halo.readFile(state.runId, `artifacts/${story.key}/1/diff.patch`)).not.toContain(`function ${id}`);
    },
  );
});
