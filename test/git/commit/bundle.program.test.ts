import { readdirSync } from 'node:fs';
import { join } from 'node:path';
import { describe, expect, it } from 'vitest';
import { readBundle, takeBundle, writeBundle } from '../../../src/git/commit/bundle.ts';
import { commitFiles, run } from '../../support/repository/git-fixture.ts';
import { tempDir } from '../../support/temp-dir.ts';

describe.each(['sha1', 'sha256'])('the bundle of a commit in a repository with %s', (format) => {
  const dir = tempDir();
  run(dir, ['init', '-q', `--object-format=${format}`]);
  const parent = commitFiles(dir, { 'a.txt': 'a\n' }, 'first');
  const commit = commitFiles(dir, { 'b.txt': 'b\n' }, 'second');
  const gitDir = join(dir, '.git');
  const folder = tempDir();
  const file = join(folder, 'change.bundle');

  it('is one that git accepts, names both commits, and leaves no ref behind', async () => {
    const refs = run(dir, ['for-each-ref']);
    await writeBundle(gitDir, { commit, parent }, file);
    expect(readdirSync(folder)).toEqual(['change.bundle']);
    expect(run(dir, ['for-each-ref'])).toBe(refs);
    expect(run(dir, ['bundle', 'verify', '-q', file])).toBe('');
    expect(run(dir, ['bundle', 'list-heads', file])).toContain(`${commit} refs/heads/change`);
    expect(await readBundle(file)).toEqual({ commit, parent });
  });

  it('brings the commit to a repository that has only its parent', async () => {
    const other = join(tempDir(), 'other');
    run(dir, ['branch', 'first', parent]);
    run(dir, ['clone', '-q', '--bare', '--no-local', '--single-branch', '--branch', 'first', gitDir, other]);
    expect(() => run(other, ['cat-file', '-e', commit])).toThrow();
    await takeBundle(other, { commit, parent }, file);
    expect(run(other, ['show', `${commit}:b.txt`])).toContain('b');
  });

  it('is not there if git fails, and one that was there stays', async () => {
    const missing = 'e'.repeat(commit.length);
    await expect(writeBundle(gitDir, { commit: missing, parent }, join(folder, 'other'))).rejects.toMatchObject({
      code: 'GIT_FAILED',
    });
    await expect(writeBundle(gitDir, { commit: missing, parent }, file)).rejects.toMatchObject({ code: 'GIT_FAILED' });
    expect(readdirSync(folder)).toEqual(['change.bundle']);
    expect(await readBundle(file)).toEqual({ commit, parent });
  });
});
