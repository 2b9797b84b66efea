import { execFileSync } from 'node:child_process';
import { mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { describe, expect, it } from 'vitest';
import { holdCommit, openHeld, readHeld, releaseCommit } from '../../src/git/hold.ts';
import { updateMirror } from '../../src/git/mirror.ts';
import { candidatePath, createScratch } from '../../src/git/scratch.ts';
import { makeRepository } from '../support/repository.ts';

describe('incident held-work: an agent reads what another run wants to land and nobody has let through', () => {
  it('is in no repository that a sandbox sees, neither by a ref nor as an object', async () => {
    const home = mkdtempSync(join(tmpdir(), 'halo-held-'));
    const repository = makeRepository();
    try {
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
      const heldDir = await openHeld(mirrorDir);
      expect(await readHeld(heldDir, commit)).toMatchObject({ parent: base, changed: [{ path: 'plan.txt' }] });
      await releaseCommit(mirrorDir, 'r1', 'a');
      expect(execFileSync('git', ['-C', heldDir, 'for-each-ref'], { encoding: 'utf8' })).toBe('');
    } finally {
      repository.remove();
      rmSync(home, { recursive: true, force: true });
    }
  });
});
