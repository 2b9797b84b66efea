import { existsSync, mkdirSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { expect, it } from 'vitest';
import { fastForward, pushFastForward } from '../../../src/git/land/fast-forward.ts';
import { inspectRepo } from '../../../src/git/repository/inspect-repo.ts';
import { updateMirror } from '../../../src/git/mirror/mirror.ts';
import { parseWorktrees } from '../../../src/git/repository/worktrees.ts';
import { commitFiles, makeRepo, run } from '../../support/repository/git-fixture.ts';
import { tempDir } from '../../support/temp-dir.ts';

/** A checkout on `main`, one commit behind `halo/r1`. */
function makeShop() {
  const root = join(tempDir(), 'Läden shop');
  const base = makeRepo(root, { a: '1\n', b: '1\n' });
  run(root, ['switch', '-q', '-c', 'halo/r1']);
  const to = commitFiles(root, { a: '2\n', new: 'x\n' }, 'story');
  run(root, ['switch', '-q', 'main']);
  return {
    root,
    gitDir: join(root, '.git'),
    base,
    to,
    request: { root, gitDir: join(root, '.git'), to, name: 'halo/r1' },
  };
}

const refused = (words: string) => ({ code: 'LAND_REFUSED', message: expect.stringContaining(words) as string });

it('moves the checked-out branch and its files forward without running hooks', async () => {
  const { root, gitDir, base, to, request } = makeShop();
  mkdirSync(join(gitDir, 'hooks'), { recursive: true });
  for (const hook of ['post-merge', 'reference-transaction', 'post-checkout']) {
    writeFileSync(join(gitDir, 'hooks', hook), `#!/bin/sh\ntouch "${join(root, '.git/tripped')}"\n`, { mode: 0o755 });
  }
  writeFileSync(join(root, 'untracked'), 'mine');
  expect(await fastForward({ ...request, branch: 'main' })).toEqual({ branch: 'main', from: base, to });
  expect(readFileSync(join(root, 'a'), 'utf8')).toBe('2\n');
  expect(run(root, ['status', '--porcelain'])).toBe('?? untracked');
  expect(existsSync(join(gitDir, 'tripped'))).toBe(false);
  expect(await fastForward({ ...request, branch: 'main' })).toEqual({ branch: 'main', from: to, to });
});

it('moves the branch that is checked out in a submodule, and its files', async () => {
  const { root, to } = makeShop();
  const app = join(root, '../app');
  makeRepo(app);
  run(app, ['-c', 'protocol.file.allow=always', 'submodule', '--quiet', 'add', root, 'lib']);
  const facts = await inspectRepo(join(app, 'lib'));
  expect(facts).toMatchObject({ root: join(app, 'lib'), gitDir: join(app, '.git/modules/lib') });
  await fastForward({ ...facts, branch: 'main', to });
  expect(readFileSync(join(app, 'lib/new'), 'utf8')).toBe('x\n');
});

it('moves a branch that is not checked out, also in a bare repository', async () => {
  const { root, base, to, request } = makeShop();
  run(root, ['branch', 'release', base]);
  await fastForward({ ...request, branch: 'release' });
  expect(run(root, ['rev-parse', 'release', 'main'])).toBe(`${to}\n${base}`);
  const bare = join(root, '../bare.git');
  run(root, ['clone', '-q', '--bare', root, bare]);
  await fastForward({ root: bare, gitDir: bare, branch: 'main', to });
  expect(run(bare, ['rev-parse', 'main'])).toBe(to);
});

it('hazards 26, 27: refuses a detached HEAD, a missing branch, and a branch that diverged', async () => {
  const { root, base, request } = makeShop();
  const detached = fastForward({ ...request, branch: undefined });
  await expect(detached).rejects.toMatchObject({
    hint: expect.stringContaining('git merge --ff-only halo/r1') as string,
  });
  await expect(fastForward({ ...request, branch: 'nope' })).rejects.toMatchObject(refused('does not exist'));
  const own = commitFiles(root, { c: '1' }, 'own work');
  await expect(fastForward({ ...request, branch: 'main' })).rejects.toMatchObject(
    refused('The branch main has moved since: it has 1 commit'),
  );
  expect(run(root, ['rev-parse', 'main', 'main^'])).toBe(`${own}\n${base}`);
});

it('hazard 27: refuses changes, staged or not, and untracked or ignored files in the way, and leaves them', async () => {
  const { root, base, request } = makeShop();
  writeFileSync(join(root, 'b'), 'dirty');
  // A commit of them would make a fast-forward impossible.
  await expect(fastForward({ ...request, branch: 'main' })).rejects.toMatchObject({
    ...refused('uncommitted changes: b'),
    hint: expect.stringMatching(/^Stash them, .* git merge /) as string,
  });
  run(root, ['add', 'b']);
  await expect(fastForward({ ...request, branch: 'main' })).rejects.toMatchObject(refused('uncommitted changes: b'));
  expect(run(root, ['diff', '--cached', '--name-only'])).toBe('b');
  run(root, ['checkout', '-q', 'HEAD', 'b']);
  writeFileSync(join(root, 'new'), 'mine');
  await expect(fastForward({ ...request, branch: 'main' })).rejects.toMatchObject(refused('overwritten: new'));
  writeFileSync(join(root, '.git/info/exclude'), 'new\n');
  await expect(fastForward({ ...request, branch: 'main' })).rejects.toMatchObject(refused('overwritten: new'));
  expect(readFileSync(join(root, 'new'), 'utf8')).toBe('mine');
  expect(run(root, ['rev-parse', 'HEAD'])).toBe(base);
});

it('lands beside files that git would only convert, and says what ends that if they are in the way', async () => {
  const root = tempDir();
  makeRepo(root, { 'old.cs': 'a\r\n' });
  const commit = (files: Record<string, string>) => {
    for (const [path, text] of Object.entries(files)) writeFileSync(join(root, path), text);
    run(root, ['add', ...Object.keys(files)]);
    run(root, ['commit', '-q', '-m', 'next']);
    return run(root, ['rev-parse', 'HEAD']);
  };
  const base = commit({ '.gitattributes': '*.cs text eol=crlf\n' });
  const [beside, through] = [commit({ new: 'x' }), commit({ 'old.cs': 'b\r\n' })];
  run(root, ['checkout', '-q', '-f', '-B', 'main', base]);
  writeFileSync(join(root, 'old.cs'), 'a\r\n');
  expect(run(root, ['status', '--porcelain'])).toBe(' M old.cs');
  const request = { root, gitDir: join(root, '.git'), branch: 'main' };
  expect(await fastForward({ ...request, to: beside })).toMatchObject({ to: beside });
  await expect(fastForward({ ...request, to: through })).rejects.toMatchObject({
    ...refused('overwritten: old.cs'),
    hint: expect.stringContaining('git add --renormalize .') as string,
  });
});

it('hazard 27: refuses in the middle of a merge or a rebase', async () => {
  const { root, gitDir, base, request } = makeShop();
  writeFileSync(join(gitDir, 'MERGE_HEAD'), `${base}\n`);
  await expect(fastForward({ ...request, branch: 'main' })).rejects.toMatchObject(refused('middle of a merge'));
  run(root, ['update-ref', '-d', 'MERGE_HEAD']);
  run(root, ['checkout', '-q', '--detach']);
  mkdirSync(join(gitDir, 'rebase-merge'));
  writeFileSync(join(gitDir, 'rebase-merge/head-name'), 'refs/heads/main\n');
  await expect(fastForward({ ...request, branch: 'main' })).rejects.toMatchObject(refused('rebase of main'));
});

it('hazard 27: refuses while another git writes to the checkout, and lands afterwards', async () => {
  const { root, gitDir, base, to, request } = makeShop();
  writeFileSync(join(gitDir, 'index.lock'), '');
  await expect(fastForward({ ...request, branch: 'main' })).rejects.toMatchObject({
    ...refused('index.lock exists'),
    hint: expect.stringMatching(/there is none.*run `rm .*index\.lock.?`.*then run `halo land`/) as string,
  });
  expect(run(root, ['rev-parse', 'main'])).toBe(base);
  expect(readFileSync(join(root, 'a'), 'utf8')).toBe('1\n');
  rmSync(join(gitDir, 'index.lock'));
  expect(await fastForward({ ...request, branch: 'main' })).toMatchObject({ to });
  expect(readFileSync(join(root, 'a'), 'utf8')).toBe('2\n');
});

it('pushes to an address without force', async () => {
  const { root, base, to } = makeShop();
  const home = tempDir();
  const url = `file://${join(home, 'remote.git')}`;
  run(home, ['clone', '-q', '--bare', root, 'remote.git']);
  run(home, ['clone', '-q', url, 'other']);
  const { dir } = await updateMirror({ home, name: 'm', from: url, commit: to });
  const otherwise = 'Fetch it.';
  await pushFastForward({ mirrorDir: dir, url, branch: 'main', commit: to, alternative: otherwise });
  expect(run(join(home, 'remote.git'), ['rev-parse', 'main'])).toBe(to);
  run(join(home, 'remote.git'), ['update-ref', 'refs/heads/main', base]);
  const away = commitFiles(join(home, 'other'), { q: '1' }, 'away');
  run(join(home, 'other'), ['push', '-q', 'origin', 'HEAD:main']);
  const late = pushFastForward({ mirrorDir: dir, url, branch: 'main', commit: to, alternative: otherwise });
  await expect(late).rejects.toMatchObject(refused('has commits'));
  expect(run(join(home, 'remote.git'), ['rev-parse', 'main'])).toBe(away);
  const gone = pushFastForward({
    mirrorDir: dir,
    url: `file://${home}/gone`,
    branch: 'main',
    commit: to,
    alternative: otherwise,
  });
  await expect(gone).rejects.toMatchObject({
    ...refused('Cannot push'),
    hint: 'Check that you may push there. Fetch it.',
  });
});

it('reads the worktrees of an older git, and refuses an ambiguous list', () => {
  const head = `HEAD ${'a'.repeat(40)}`;
  const plain = `worktree /a b\n${head}\nbranch refs/heads/main\n\nworktree /c\n${head}\ndetached\nlocked why\n\n`;
  expect(parseWorktrees(plain, '\n')).toEqual([
    { path: '/a b', branch: 'refs/heads/main' },
    { path: '/c', branch: undefined },
  ]);
  for (const path of ['/x\nnext', '/x\n\nnext', '/x\nbranch refs/heads/other'])
    expect(() => parseWorktrees(`worktree ${path}\n${head}\nbranch refs/heads/main\n\n`, '\n')).toThrow(
      'The path of a worktree of the repository contains a newline.',
    );
});
