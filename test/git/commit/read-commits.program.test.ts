import { execFileSync } from 'node:child_process';
import { chmodSync } from 'node:fs';
import { join } from 'node:path';
import { expect, it } from 'vitest';
import { describeChange } from '../../../src/git/commit/read-commits.ts';
import { commitFiles, makeRepo } from '../../support/repository/git-fixture.ts';
import { tempDir } from '../../support/temp-dir.ts';

it('lists binary files that were changed, moved, or only made executable', async () => {
  const dir = join(tempDir(), 'r');
  makeRepo(dir);
  const gitDir = join(dir, '.git');
  const listed = async (from: string, to: string) => (await describeChange({ gitDir, from, to })).binary;
  const first = commitFiles(dir, { 'a.png': 'x\0y', 'b.png': 'a\0b'.repeat(50), 'c.txt': 'c\n' }, 'first');
  const second = commitFiles(dir, { 'a.png': 'x\0z', 'c.txt': 'd\n' }, 'second');
  expect(await listed(first, second)).toEqual(['a.png']);
  chmodSync(join(dir, 'a.png'), 0o755);
  const third = commitFiles(dir, { 'c.txt': 'e\n' }, 'third');
  expect(await listed(second, third)).toEqual(['a.png']);
  execFileSync('git', ['mv', 'b.png', 'd.png'], { cwd: dir });
  const fourth = commitFiles(dir, { 'c.txt': 'f\n' }, 'fourth');
  expect(await listed(third, fourth)).toEqual(['b.png', 'd.png']);
  expect(await listed(fourth, commitFiles(dir, { 'c.txt': '\nold mode 1\n' }, 'fifth'))).toEqual([]);
});
