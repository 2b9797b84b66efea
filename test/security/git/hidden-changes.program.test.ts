import { join } from 'node:path';
import { describe, expect, it } from 'vitest';
import { diffCommits } from '../../../src/git/commit/read-commits.ts';
import { commitFiles, makeRepo } from '../../support/repository/git-fixture.ts';
import { tempDir } from '../../support/temp-dir.ts';

describe('incident hidden-changes: a NUL in a file', () => {
  it('a text file that gets a NUL is shown in diffs, and a binary file is not', async () => {
    const dir = join(tempDir(), 'r');
    makeRepo(dir);
    const from = commitFiles(dir, { 'a.sh': 'echo a\n', 'b.png': 'x\0y', 'c.txt': 'c\n' }, 'first');
    const to = commitFiles(
      dir,
      { 'a.sh': 'rm -rf /\n\0\rdiff --git a b\n', 'b.png': 'x\0z', 'c.txt': 'd\n', 'n.bin': '\0' },
      'second',
    );
    const patch = (await diffCommits({ gitDir: join(dir, '.git'), from, to })).toString('latin1');
    expect(patch).toContain('-echo a\n+rm -rf /\n+\0\rdiff --git a b\n');
    expect(patch).toContain('Binary files a/b.png and b/b.png differ');
    expect(patch).toContain('Binary files /dev/null and b/n.bin differ');
    expect(patch.split('\n').filter((line) => line.startsWith('diff --git '))).toEqual(
      ['a.sh', 'b.png', 'c.txt', 'n.bin'].map((name) => `diff --git a/${name} b/${name}`),
    );
    expect(patch).toContain('-c\n+d\n');
  });
});
