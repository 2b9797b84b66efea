import { describe, expect } from 'vitest';
import type { Proof } from '../../../../src/core/review/proof.ts';
import { it as base } from '../../../support/fixtures.ts';
import { OK, scripted, type TestHalo } from '../../../support/halo/halo.ts';
import { TESTS_COMMAND } from '../../../support/halo/tests-first.ts';
import { newRepository } from '../../../support/repository/new-repository.ts';

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
  expect(await halo.operations.approve({ runId, story: 'A' })).toMatchObject({ landed: true });
  for (const id of ['B', 'C']) {
    expect(await halo.operations.approve({ runId, story: id })).toMatchObject({ landed: false, goesOn: true });
    await halo.untilEnd(runId);
  }
  return { repository, state: (await halo.operations.getRun({ runId })).state };
}

const it = base.extend('approved', { scope: 'file' }, ({ halo }) => approveAll(halo));

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
