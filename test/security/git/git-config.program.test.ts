import { appendFileSync, existsSync, mkdirSync, readFileSync, rmSync, utimesSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { afterEach, beforeAll, beforeEach, describe, expect, it } from 'vitest';
import { fastForward } from '../../../src/git/land/fast-forward.ts';
import { diffCheckout, inspectRepo, listChanges } from '../../../src/git/repository/inspect-repo.ts';
import { restoreStash, stashChanges } from '../../../src/git/repository/stash.ts';
import { checkOutWorktree } from '../../../src/git/repository/worktrees.ts';
import { commitFiles, makeRepo, run } from '../../support/repository/git-fixture.ts';
import { tempDir } from '../../support/temp-dir.ts';
import { leaveGitLauncher } from '../../support/suite/git-launcher.ts';

beforeAll(leaveGitLauncher);

const KEYS = [
  ...['filter.evil=x.clean', 'filter.evil=x.smudge', 'filter.evil=x.process', 'core.fsmonitor', 'core.sshCommand'],
  ...['core.pager', 'core.editor', 'core.askPass', 'core.gitProxy', 'core.alternateRefsCommand', 'diff.external'],
  ...['diff.evil.textconv', 'diff.evil.command', 'merge.evil.driver', 'gpg.program', 'gpg.ssh.program'],
  ...['credential.helper', 'alias.status', 'alias.merge', 'pager.status', 'pager.diff', 'hook.x.command'],
  ...['interactive.diffFilter', 'uploadpack.packObjectsHook', 'trailer.x.command', 'submodule.x.update'],
];
const HOOKS = [
  ...['post-index-change', 'pre-merge-commit', 'post-merge', 'post-checkout', 'reference-transaction'],
  ...['fsmonitor-watchman', 'prepare-commit-msg', 'post-commit', 'post-rewrite'],
];
const ATTRIBUTES = '*.dat filter=evil=x diff=evil merge=evil\n';

let root: string;
let gitDir: string;
let wire: string;
let base: string;

/** Adds a setting to a file as git writes it, which would take a process for each. */
function set(file: string, key: string, value: string): void {
  const [section = '', ...rest] = key.split('.');
  const name = rest.pop() ?? '';
  const within = rest.length === 0 ? '' : ` "${rest.join('.')}"`;
  appendFileSync(file, `[${section}${within}]\n\t${name} = "${value}"\n`);
}

/** A checkout whose own configuration names a program wherever git takes one, in all the ways of naming it. */
beforeEach(() => {
  const home = tempDir();
  [root, wire] = [join(home, 'shop'), join(home, 'wire')];
  gitDir = join(root, '.git');
  base = makeRepo(root, { 'a.txt': 'a\n', 'x.dat': 'data\n', '.gitattributes': ATTRIBUTES });
  const program = join(gitDir, 'program');
  writeFileSync(program, `#!/bin/sh\necho "$0 $*" >> '${wire}'\ncat\n`, { mode: 0o755 });
  mkdirSync(join(gitDir, 'hooks'), { recursive: true });
  for (const hook of HOOKS) writeFileSync(join(gitDir, 'hooks', hook), readFileSync(program), { mode: 0o755 });
  const included = join(gitDir, 'more');
  for (const [place, key] of KEYS.entries()) {
    const file = [join(gitDir, 'config'), included, join(gitDir, 'config.worktree')][place % 3]!;
    set(file, key, `${key.startsWith('alias') ? '!' : ''}'${program}'`);
  }
  set(included, 'merge.verifySignatures', 'false');
  set(join(gitDir, 'config'), 'includeIf.gitdir:**.path', 'more');
  set(join(gitDir, 'config'), 'filter.evil=x.required', 'true');
  set(join(gitDir, 'config'), 'extensions.worktreeConfig', 'true');
  // Git has to look at the content: what it knows of the file is older.
  utimesSync(join(root, 'x.dat'), 1, 1);
});
afterEach(() => {
  delete process.env.GIT_CONFIG_GLOBAL;
});

/** A commit of a story that builds on the base; no program of the configuration helps to make it. */
function land(files: Record<string, string>): string {
  const aside = join(root, '../aside');
  rmSync(aside, { recursive: true, force: true });
  run(root, ['clone', '-q', '--no-checkout', root, aside]);
  run(aside, ['reset', '-q', '--hard', base]);
  const commit = commitFiles(aside, files, 'story');
  run(root, ['-c', 'core.hooksPath=/dev/null', '-c', 'core.fsmonitor=false', 'fetch', '-q', aside, commit]);
  return commit;
}

function ranPrograms(): string {
  return existsSync(wire) ? readFileSync(wire, 'utf8') : '';
}

describe('incident config-programs: a configuration of git in an untrusted folder', () => {
  it('runs no program when halo reads the checkout: changes are found without it', async () => {
    expect(await inspectRepo(root)).toMatchObject({ root, head: base });
    expect((await listChanges(root)).tracked).toEqual([]);
    writeFileSync(join(root, 'x.dat'), 'other\n');
    expect((await listChanges(root)).tracked).toEqual(['x.dat']);
    expect(await diffCheckout(root, 10_000)).toContain('+other');
    expect(ranPrograms()).toBe('');
  });

  it('runs no program when a run lands in it, and an error names the alternative if one is needed', async () => {
    const to = land({ 'b.txt': 'b\n' });
    await fastForward({ root, gitDir, branch: 'main', to, name: 'halo/r' });
    expect(readFileSync(join(root, 'b.txt'), 'utf8')).toBe('b\n');
    base = to;
    for (const files of [{ 'y.dat': 'y\n' }, { 'sub/.gitattributes': '* filter=evil=x\n' }])
      await expect(
        fastForward({ root, gitDir, branch: 'main', to: land(files as Record<string, string>), name: 'halo/r' }),
      ).rejects.toMatchObject({
        code: 'LAND_REFUSED',
        message: expect.stringContaining('the filter evil=x') as string,
        hint: expect.stringContaining('git merge --ff-only halo/r') as string,
      });
    expect(run(root, ['-c', 'alias.x=', 'rev-parse', 'main'])).toBe(to);
    expect(ranPrograms()).toBe('');
  });

  it('runs no program in a separate worktree, also by a setting that applies only there', async () => {
    run(root, [
      'config',
      '--file',
      join(gitDir, 'there'),
      'filter.evil=x.smudge',
      `'${join(gitDir, 'program')}' there`,
    ]);
    run(root, ['config', 'includeIf.gitdir:**/worktrees/**.path', 'there']);
    const path = join(root, '../worktree');
    await checkOutWorktree({ gitDir, commit: base, path });
    await checkOutWorktree({ gitDir, commit: land({ 'y.dat': 'y\n' }), path });
    expect(readFileSync(join(path, 'y.dat'), 'utf8')).toBe('y\n');
    expect(ranPrograms()).toBe('');
  });

  it('runs no program when changes are stashed', async () => {
    writeFileSync(join(root, 'a.txt'), 'mine\n');
    const stash = await stashChanges(root, { except: ['x.dat'], message: 'aside' });
    expect(await restoreStash(stash!)).toBeUndefined();
    expect(readFileSync(join(root, 'a.txt'), 'utf8')).toBe('mine\n');
    writeFileSync(join(root, 'x.dat'), 'other\n');
    const aside = stashChanges(root, { except: [], message: 'aside' });
    await expect(aside).rejects.toMatchObject({ code: 'LAND_REFUSED' });
    expect(ranPrograms()).toBe('');
  });

  it('does not disable what the operator has configured', async () => {
    const own = join(root, '../gitconfig');
    run(root, ['config', '--file', own, 'filter.own.clean', 'tr b a']);
    run(root, ['config', '--file', own, 'filter.own.smudge', 'tr a b']);
    run(root, ['config', 'filter.own.smudge', `'${join(gitDir, 'program')}' own`]);
    process.env.GIT_CONFIG_GLOBAL = own;
    writeFileSync(join(gitDir, 'info/attributes'), '*.own filter=own\n');
    base = land({ 'c.own': 'aaa\n' });
    await fastForward({ root, gitDir, branch: 'main', to: base });
    expect(readFileSync(join(root, 'c.own'), 'utf8')).toBe('bbb\n');
    utimesSync(join(root, 'c.own'), 1, 1);
    expect((await listChanges(root)).tracked).toEqual([]);
    expect(ranPrograms()).toBe('');
  });
});
