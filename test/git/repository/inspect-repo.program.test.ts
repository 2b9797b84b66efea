import { chmodSync, existsSync, mkdirSync, rmSync, symlinkSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { expect, it } from 'vitest';
import { inspectRepo, listChanges, readFileAt } from '../../../src/git/repository/inspect-repo.ts';
import { commitFiles, makeRepo, run } from '../../support/repository/git-fixture.ts';
import { tempDir } from '../../support/temp-dir.ts';

it.for(['mein Läden', 'mein\nLäden', 'true\nHEAD'])(
  'finds root, branch and head from any folder of %j',
  async (name) => {
    const root = join(tempDir(), name);
    const head = makeRepo(root, { 'src/a.ts': '1' });
    run(root, ['tag', 'HEAD']);
    expect(await inspectRepo(join(root, 'src'))).toEqual({
      root,
      gitDir: join(root, '.git'),
      ownGitDir: join(root, '.git'),
      branch: 'main',
      head,
      shallow: false,
    });
  },
);

it('detects a detached HEAD, a linked worktree, a bare and a shallow repository', async () => {
  const home = tempDir();
  const root = join(home, 'shop');
  makeRepo(root);
  const head = commitFiles(root, { b: '2' }, 'second');
  run(root, ['worktree', 'add', '-q', '--detach', join(home, 'linked')]);
  run(home, ['clone', '-q', '--bare', root, 'bare.git']);
  run(home, ['clone', '-q', '--depth', '1', `file://${root}`, 'thin']);
  const gitDir = join(root, '.git');
  expect(await inspectRepo(join(home, 'linked'))).toMatchObject({ root: join(home, 'linked'), gitDir, head });
  const linked = await inspectRepo(join(home, 'linked'));
  expect(linked.branch).toBeUndefined();
  expect(linked.ownGitDir).toBe(join(gitDir, 'worktrees', 'linked'));
  const bare = join(home, 'bare.git');
  expect(await inspectRepo(bare)).toMatchObject({ root: bare, gitDir: bare, branch: 'main', head });
  expect(await listChanges(bare)).toEqual({ tracked: [], untracked: [] });
  expect((await inspectRepo(join(home, 'thin'))).shallow).toBe(true);
});

it('refuses a missing path, a file, a bare folder and a repository without commits', async () => {
  const dir = tempDir();
  writeFileSync(join(dir, 'file'), '');
  for (const path of [join(dir, 'nowhere'), join(dir, 'file'), dir]) {
    await expect(inspectRepo(path)).rejects.toMatchObject({ code: 'NOT_A_GIT_REPO' });
  }
  run(dir, ['init', '-q']);
  writeFileSync(join(dir, 'HEAD^{commit}'), '');
  await expect(inspectRepo(dir)).rejects.toMatchObject({ code: 'NO_COMMITS' });
});

it('lists changed and untracked paths without running hooks or writing the index', async () => {
  const root = tempDir();
  makeRepo(root, { 'kept.txt': '1', 'gone.txt': '2', '.gitignore': 'ignored\n' });
  expect(await listChanges(root)).toEqual({ tracked: [], untracked: [] });
  const tripwire = join(root, '.git', 'tripped');
  mkdirSync(join(root, '.git/hooks'), { recursive: true });
  writeFileSync(join(root, '.git/hooks/post-index-change'), `#!/bin/sh\ntouch "${tripwire}"\n`, { mode: 0o755 });
  writeFileSync(join(root, '.git/evil'), `#!/bin/sh\ntouch "${tripwire}"\n`, { mode: 0o755 });
  run(root, ['config', 'core.fsmonitor', join(root, '.git/evil')]);
  writeFileSync(join(root, 'kept.txt'), 'changed');
  writeFileSync(join(root, 'mit Umläut.txt'), '');
  writeFileSync(join(root, 'ignored'), '');
  run(root, ['-c', 'core.fsmonitor=false', '-c', 'core.hooksPath=/dev/null', 'rm', '-q', 'gone.txt']);
  const { tracked, untracked } = await listChanges(root);
  expect([tracked.sort(), untracked]).toEqual([['gone.txt', 'kept.txt'], ['mit Umläut.txt']]);
  expect(await listChanges(root, ['kept.txt', 'mit Umläut.txt'])).toEqual({ tracked: ['gone.txt'], untracked: [] });
  expect(existsSync(tripwire)).toBe(false);
});

it('lists no file that git would only convert', async () => {
  const root = tempDir();
  makeRepo(root, { 'old.cs': 'a\r\n', 'b c.cs': 'a\r\n', 'edited.cs': 'a\r\n' });
  writeFileSync(join(root, '.gitattributes'), '*.cs text eol=crlf\n');
  run(root, ['add', '.gitattributes']);
  run(root, ['commit', '-q', '-m', 'attributes']);
  for (const name of ['old.cs', 'b c.cs']) writeFileSync(join(root, name), 'a\r\n');
  writeFileSync(join(root, 'edited.cs'), 'b\r\n');
  const shown = run(root, ['status', '--porcelain']);
  expect(shown).toContain('old.cs');
  expect(await listChanges(root)).toEqual({ tracked: ['edited.cs'], untracked: [] });
});

it('lists files of which only the mode or the link has changed', async () => {
  const root = tempDir();
  makeRepo(root, { 'run.sh': 'a\n', other: 'b\n', text: 'other' });
  symlinkSync('other', join(root, 'link'));
  run(root, ['add', 'link']);
  run(root, ['commit', '-q', '-m', 'link']);
  chmodSync(join(root, 'run.sh'), 0o755);
  rmSync(join(root, 'link'));
  symlinkSync('text', join(root, 'link'));
  expect((await listChanges(root)).tracked.sort()).toEqual(['link', 'run.sh']);
});

it('inspectRepo reads a file of a commit, and distinguishes a missing file from a missing commit', async () => {
  const root = tempDir();
  const commit = makeRepo(root, { 'docs/ä b.md': 'text\n' });
  const gitDir = join(root, '.git');
  const at = (path: string, maxBytes = 1000) => readFileAt({ gitDir, commit, path, maxBytes });
  expect(await at('docs/ä b.md')).toBe('text\n');
  expect(await at('nope.md')).toBeUndefined();
  await expect(at('docs/ä b.md', 2)).rejects.toMatchObject({ code: 'GIT_FAILED' });
  expect(await readFileAt({ gitDir, commit, path: 'docs/ä b.md', maxBytes: 2, truncate: true })).toBe('te');
  const missing = { gitDir, commit: 'f'.repeat(40), path: 'x', maxBytes: 10 };
  await expect(readFileAt(missing)).rejects.toMatchObject({ code: 'GIT_FAILED' });
});
