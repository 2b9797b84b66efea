import { execFileSync } from 'node:child_process';
import { appendFileSync } from 'node:fs';
import { join } from 'node:path';
import { describe, expect, it } from 'vitest';
import { OPERATIONS } from '../../../src/api/operations.ts';
import type { RunState } from '../../../src/core/run/state.ts';
import { findPlaces } from '../../../src/git/repository/repository-places.ts';
import { findMovedBase } from '../../../src/worker/repository/moved-base.ts';
import { stateOf, succeeded } from '../../support/journal.ts';
import { commitFiles, makeRepo, run as git } from '../../support/repository/git-fixture.ts';
import { tempDir } from '../../support/temp-dir.ts';

/** A run with one commit, and the checkout that it was submitted for. */
async function ended() {
  const root = tempDir();
  const base = makeRepo(root);
  git(root, ['switch', '-q', '-c', 'halo/r1']);
  const tip = commitFiles(root, { new: 'x\n' }, 'story');
  git(root, ['switch', '-q', 'main']);
  const state = stateOf(...succeeded('r1'));
  const places = (await findPlaces(root))?.repositories ?? [];
  const run: RunState = { ...state, tip, repo: { ...state.repo, source: root, places, base } };
  return { root, run };
}

describe('a branch that a run could land on has moved', () => {
  it('if it has commits that the run lacks, unless it has those of the run, too', async () => {
    const { root, run } = await ended();
    expect(await findMovedBase('/home', run)).toBeUndefined();
    commitFiles(root, { own: '1' }, 'own work');
    expect(await findMovedBase('/home', run)).toEqual({ branch: 'main', commits: 1 });
    git(root, ['merge', '-q', '--no-edit', 'halo/r1']);
    expect(await findMovedBase('/home', run)).toBeUndefined();
  });

  it('is not known if git waits for a pipe in the repository: the look at the run ends soon, and with its client', async () => {
    const { root, run } = await ended();
    commitFiles(root, { own: '1' }, 'own work');
    const pipe = join(tempDir(), 'pipe');
    execFileSync('mkfifo', [pipe]);
    appendFileSync(join(root, '.git/config'), `[include]\n\tpath = ${pipe}\n`);
    expect(await findMovedBase('/home', run, { gitMs: 100 })).toBeUndefined();
    expect(await findMovedBase('/home', run, { signal: AbortSignal.abort() })).toBeUndefined();
    expect(OPERATIONS.getRun).toMatchObject({ endsWithRequest: true });
  });
});
