import { readFileSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { describe, expect } from 'vitest';
import { verify } from '../../../../src/api/runs/verify-commit.ts';
import type { JournalEvent } from '../../../../src/core/journal/events.ts';
import { proofText, type Proof } from '../../../../src/core/review/proof.ts';
import type { FactCheck } from '../../../../src/worker/proof/compare-record.ts';
import { it as base } from '../../../support/fixtures.ts';
import { OK, prdOf, scripted, type TestHalo } from '../../../support/halo/halo.ts';
import {
  ADD_SUM,
  answerWith,
  HONEST_TESTS,
  TESTS_COMMAND,
  testsFirstAgent,
} from '../../../support/halo/tests-first.ts';
import { newRepository } from '../../../support/repository/new-repository.ts';

const phasesOf = (events: readonly JournalEvent[], story: string) =>
  events.flatMap((event) => (event.type === 'phase.started' && event.story === story ? [event.phase] : []));

/**
 * The story of the first line of the prompt: A is about `one`, B about `two`, C about `three`, whose test demands that A is
 * not there.
 */
const PARALLEL = `cat > /tmp/prompt; more=
case "$(head -n 1 /tmp/prompt)" in *'"A"'*) name=one;; *'"B"'*) name=two;; *) name=three; more='assert.ok(!existsSync("one.mjs"));';; esac
if grep -q 'Write the tests for' /tmp/prompt; then cat > $name.test.mjs <<X
import test from "node:test"; import assert from "node:assert"; import { existsSync } from "node:fs";
test("$name", async () => { const own = await import("./$name.mjs"); assert.ok(own.value); $more });
X
else echo 'export const value = 1;' > $name.mjs; fi; ${OK}`;

/** Three stories that were implemented in parallel, and approved one after the other. */
async function approveAll(halo: TestHalo) {
  const repository = newRepository({});
  const settings = ['tests.first="on"', 'tests.baseline="never"', TESTS_COMMAND, 'approval.mode="story"', 'run.parallel=3', 'run.on_failure="continue"']; // prettier-ignore
  const stories = [{ id: 'A' }, { id: 'B' }, { id: 'C' }];
  const { runId, stories: held } = await halo.run(repository.root, stories, scripted(PARALLEL, ['true'], settings));
  expect(held.map(({ progress }) => progress)).toEqual(['needs_human', 'needs_human', 'needs_human']);
  expect(await halo.operations.approve(runId, 'A')).toMatchObject({ landed: true });
  for (const id of ['B', 'C']) {
    expect(await halo.operations.approve(runId, id)).toMatchObject({ landed: false, goesOn: true });
    await halo.untilEnd(runId);
  }
  return { repository, state: (await halo.operations.get(runId)).state };
}

const HOLDS = `cat > node.test.mjs <<'X'
import test from "node:test";
test("still counts", () => {});
X
`;

/** A landed story, and a function that verifies it after a change of its record. */
async function landVerifiable(halo: TestHalo) {
  const repository = newRepository({});
  const agent = testsFirstAgent(`${HONEST_TESTS}${HOLDS}`, ADD_SUM, answerWith([['adds', 'still counts']], [1]));
  const settings = scripted(agent, [], ['tests.first="on"', TESTS_COMMAND]);
  const { runId, stories } = await halo.run(repository.root, [{ id: 'A' }], settings);
  const path = join(halo.home, 'runs', runId, 'artifacts', stories[0]!.key, '1/proof.json');
  const text = readFileSync(path, 'utf8');
  return async (change: (proof: Proof) => void): Promise<FactCheck[]> => {
    const proof = JSON.parse(text) as Proof;
    change(proof);
    writeFileSync(path, proofText(proof));
    const checks: FactCheck[] = [];
    const query = { target: runId, folder: repository.root, trustRecord: true, signal: new AbortController().signal };
    for await (const verified of verify(halo.host, query)) checks.push(...verified.checks);
    return checks;
  };
}

const it = base
  .extend('approved', { scope: 'file' }, ({ halo }) => approveAll(halo))
  .extend('verifyChanged', { scope: 'file' }, ({ halo }) => landVerifiable(halo));

describe('a PRD that wants tests first', () => {
  it('has phases for the tests of its stories, except of one that wants none', async ({ halo }) => {
    const prd = prdOf([{ id: 'A' }, { id: 'B', testsFirst: 'off' }], { testsFirst: 'on' });
    const agent = testsFirstAgent(HONEST_TESTS, `${ADD_SUM} date +%N >> times.txt`);
    const request = { prd, repos: [newRepository({}).root], profile: undefined, allowDirty: false };
    const [run] = await halo.operations.submit({ ...request, set: scripted(agent, [], [TESTS_COMMAND]) });
    expect(await halo.untilEnd(run!.runId)).toMatchObject({ stopReason: 'SUCCESS' });
    const events = halo.journal(run!.runId);
    expect(phasesOf(events, 'A').slice(0, 4)).toEqual(['prepare', 'tests', 'red', 'agent']);
    expect(phasesOf(events, 'B').slice(0, 2)).toEqual(['prepare', 'agent']);
  });

  it('may want them for one story only', async ({ halo }) => {
    const agent = testsFirstAgent(HONEST_TESTS, `${ADD_SUM} date +%N >> times.txt`);
    const settings = scripted(agent, [], [TESTS_COMMAND]);
    const state = await halo.run(newRepository({}).root, [{ id: 'B', testsFirst: 'on' }, { id: 'A' }], settings);
    expect(state).toMatchObject({ stopReason: 'SUCCESS' });
    const events = halo.journal(state.runId);
    expect(phasesOf(events, 'A')).not.toContain('tests');
    expect(phasesOf(events, 'B')).toContain('red');
  });
});

describe('stories with locked tests that run in parallel and wait for approval', () => {
  it('land after a merge if the locked tests pass again', ({ halo, approved }) => {
    const { repository, state } = approved;
    expect(state.stories.slice(0, 2)).toMatchObject([{ progress: 'passed' }, { progress: 'passed' }]);
    const events = halo.journal(state.runId);
    const merged = events.findIndex((event) => event.type === 'story.merged' && event.story === 'B');
    expect(merged).toBeGreaterThan(0);
    const gates = events.slice(merged).flatMap((event) => (event.type === 'gate.ended' ? [event] : []));
    expect(gates.slice(0, 2)).toMatchObject([
      { story: 'B', exitCode: 0 },
      { story: 'B', command: 'true' },
    ]);
    expect(gates[0]!.command).toContain('two.test.mjs');
    const files = repository.git('ls-tree', '--name-only', `halo/${state.runId}`).split('\n');
    expect(files).toEqual(expect.arrayContaining(['one.mjs', 'one.test.mjs', 'two.mjs', 'two.test.mjs']));
    const [, second] = state.stories;
    const proof = JSON.parse(repository.git('notes', '--ref=halo', 'show', second!.commit!)) as Proof;
    expect(proof).toMatchObject({ startedFrom: state.repo.base, tests: { cases: ['two'] } });
  });

  it('do not land if a locked test fails after the merge', ({ approved }) => {
    const { repository, state } = approved;
    expect(state.stories[2]).toMatchObject({ progress: 'failed', stopReason: 'GATE_FAILED' });
    expect(repository.git('ls-tree', '--name-only', `halo/${state.runId}`)).not.toContain('three');
  });
});

describe('halo verify of a story with tests first', () => {
  const found = (checks: FactCheck[], name: string) => checks.find(({ what }) => what === name);

  it('confirms the tests before and after the change by name', async ({ verifyChanged }) => {
    const checks = await verifyChanged(() => undefined);
    expect(found(checks, 'tests on the base')).toMatchObject({ found: 'fail', ok: true });
    expect(found(checks, 'tests after the change')).toMatchObject({ found: 'pass', ok: true });
    expect(checks.filter(({ ok }) => ok === false)).toEqual([]);
  });

  it.for<[string, string, (proof: Proof) => void, string]>([
    ['the tests pass on the base', 'tests on the base', (proof) => (proof.startedFrom = proof.commit), 'exit 0'],
    [
      'one of the tests passes on the base',
      'tests on the base',
      ({ tests }) => delete tests!.holding,
      'not failed: still counts',
    ],
    [
      'a test does not run on the commit',
      'tests after the change',
      ({ tests }) => tests!.cases.push('more'),
      'not passed: more',
    ],
    [
      'a file of the commit is not the locked one',
      'locked tests',
      ({ tests }) => (tests!.files[0]!.blob = '0'.repeat(40)),
      'changed or missing',
    ],
  ])('fails if %s', async ([, what, change, expected], { verifyChanged }) => {
    expect(found(await verifyChanged(change), what)).toMatchObject({ found: expected, ok: false });
  });
});
