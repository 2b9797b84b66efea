import { describe, expect } from 'vitest';
import { it as base } from '../../support/fixtures.ts';
import { scripted } from '../../support/halo/halo.ts';
import { ADD_SUM, HONEST_TESTS, TESTS_COMMAND, testsFirstAgent } from '../../support/halo/tests-first.ts';
import type { TestRepository } from '../../support/repository/repository.ts';
import { newRepository } from '../../support/repository/new-repository.ts';

import { verify } from '../../../src/api/runs/verify-commit.ts';
import type { FactCheck } from '../../../src/worker/proof/compare-record.ts';
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
