import { execFileSync } from 'node:child_process';
import { join } from 'node:path';
import { describe, expect } from 'vitest';
import {
  holdCommit,
  openHeldRepository,
  readHeldCommit,
  releaseHeldCommit,
} from '../../../src/git/commit/held-commits.ts';
import { updateMirror } from '../../../src/git/mirror/mirror.ts';
import { candidatePath, createScratch } from '../../../src/git/repository/scratch-repo.ts';
import { it } from '../../support/fixtures.ts';
import { OK, scripted } from '../../support/halo/halo.ts';
import { tempDir } from '../../support/temp-dir.ts';
import { newRepository } from '../../support/repository/new-repository.ts';

describe('incident held-work: an agent reads commits of another run that are waiting for approval', () => {
  it('finds them in no repository that a sandbox sees, neither by a ref nor as an object', async () => {
    const home = tempDir('halo-held');
    const repository = newRepository();
    const base = repository.git('rev-parse', 'HEAD');
    const { dir: mirrorDir } = await updateMirror({ home, name: 'r-1', from: join(repository.root, '.git') });
    const candidateDir = candidatePath(await createScratch({ mirrorDir, attemptId: 'run-a-a1-e1' }));
    repository.write('plan.txt', 'not for others\n');
    const commit = repository.commit('held');
    execFileSync('git', ['-C', candidateDir, 'fetch', '-q', repository.root, commit]);
    await holdCommit({ candidateDir, mirrorDir, runId: 'r1', storyKey: 'a', commit });
    const seen = (...args: string[]) => execFileSync('git', ['-C', mirrorDir, ...args], { encoding: 'utf8' });
    expect(seen('for-each-ref', '--format=%(objectname)')).not.toContain(commit);
    expect(seen('cat-file', '--batch-all-objects', '--batch-check')).not.toContain(commit);
    const heldDir = await openHeldRepository(mirrorDir);
    expect(await readHeldCommit(heldDir, commit)).toMatchObject({ parent: base, changed: [{ path: 'plan.txt' }] });
    await releaseHeldCommit(mirrorDir, 'r1', 'a');
    expect(execFileSync('git', ['-C', heldDir, 'for-each-ref'], { encoding: 'utf8' })).toBe('');
  });
});

describe('incident other-runs: an agent reads what other runs landed, or other branches, in the repositories that it sees', () => {
  it('sees only what its own base commit reaches', async ({ halo }) => {
    const repository = newRepository({ 'README.md': 'of this branch\n' });
    const story = [{ id: 'A', title: 'A' }];
    const first = await halo.run(repository.root, story, scripted(`echo "of another run" > plan.txt; ${OK}`));
    expect(first.stopReason).toBe('SUCCESS');
    const read = 'for dir in .git /halo/repo/*.git; do git --git-dir=$dir cat-file --batch-all-objects --batch; done';
    const agent = `{ ${read}; ls /halo/repo; } | tr -d '\\000' > seen; ${OK}`;
    const second = await halo.run(repository.root, story, scripted(agent, ['true'], ['land.hidden_characters=report']));
    expect(second.stopReason).toBe('SUCCESS');
    const seen = repository.git('show', `halo/${second.runId}:seen`);
    expect(seen).toContain('of this branch');
    expect(seen).toContain('base.git');
    expect(seen).not.toContain('of another run');
  });
});
