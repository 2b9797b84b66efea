import { mkdirSync, realpathSync, renameSync, rmSync, symlinkSync, writeFileSync } from 'node:fs';
import { execFileSync } from 'node:child_process';
import { dirname, join } from 'node:path';
import { describe, expect, it } from 'vitest';
import { resolveSubmission } from '../../../src/api/submit/resolve-submission.ts';
import type { SubmitContext } from '../../../src/api/submit/submit-context.ts';
import { findPlaces } from '../../../src/git/repository/repository-places.ts';
import { inspectRunRepo, requireRunGitDir } from '../../../src/worker/repository/host-repository.ts';
import { BORROWED } from './borrowed-repositories.ts';
import { newRepository } from '../../support/repository/new-repository.ts';
import { tempDir } from '../../support/temp-dir.ts';

const FILES = { 'halo.toml': 'gates = ["true"]\n' };

function newPlace(): { root: string; other: string } {
  return { root: realpathSync(newRepository(FILES).root), other: realpathSync(newRepository(FILES).root) };
}

/** Resolves a submit of a folder for a user whose rights are asked with `assertMayUse`. */
function submit(source: string, assertMayUse: (place: string) => void) {
  const context = { host: { home: tempDir('home') }, env: {}, assertMayUse } as unknown as SubmitContext;
  const prd = { path: join(source, 'prd.json'), bytes: Buffer.from('{"userStories":[]}') };
  const request = { profile: undefined, set: [], allowDirty: true, remote: true as const };
  return resolveSubmission(context, { request, source, prd });
}

describe('incident borrowed-repository: where the files of a repository are', () => {
  it('a checkout, a bare repository, a submodule and a folder below are one repository', async () => {
    const { root } = newPlace();
    mkdirSync(join(root, 'a/b'), { recursive: true });
    expect(await findPlaces(join(root, 'a/b'))).toEqual({ gitDir: join(root, '.git'), repositories: [root] });
    const bare = join(realpathSync(tempDir('bare')), 'x.git');
    execFileSync('git', ['clone', '-q', '--bare', root, bare]);
    expect(await findPlaces(bare)).toEqual({ gitDir: bare, repositories: [bare] });
    const inner = join(root, '.git/modules/sub');
    mkdirSync(dirname(inner), { recursive: true });
    execFileSync('git', ['clone', '-q', '--bare', root, inner]);
    mkdirSync(join(root, 'sub'));
    writeFileSync(join(root, 'sub/.git'), 'gitdir: ../.git/modules/sub\n');
    expect(await findPlaces(join(root, 'sub'))).toEqual({ gitDir: inner, repositories: [root] });
    expect(await findPlaces(tempDir('none'))).toBeUndefined();
  });

  it('a linked worktree and a clone with alternates are two', async () => {
    const { root, other } = newPlace();
    const tree = join(realpathSync(tempDir('tree')), 'w');
    execFileSync('git', ['-C', root, 'worktree', 'add', '-q', '--detach', tree]);
    expect(await findPlaces(tree)).toEqual({ gitDir: join(root, '.git'), repositories: [root] });
    writeFileSync(join(root, '.git/objects/info/alternates'), `${other}/.git/objects\n`);
    expect((await findPlaces(tree))?.repositories).toEqual([root, other].sort());
  });

  it.each(Object.entries(BORROWED))('one with %s is also the one that lends the files', async (_, borrow) => {
    const folder = realpathSync(tempDir('halo-borrowed'));
    const other = newRepository(FILES);
    borrow(join(folder, 'x'), other);
    const asked: string[] = [];
    const allowed = (place: string) => {
      asked.push(place);
      if (!place.startsWith(folder)) throw new Error(`may not use ${place}`);
    };
    await expect(submit(join(folder, 'x'), allowed)).rejects.toThrow(`may not use ${realpathSync(other.root)}`);
    expect(asked[0]).toBe(join(folder, 'x'));
  });

  it('one that is replaced between the check and the first read is refused', async () => {
    const { root, other } = newPlace();
    const allowed = (place: string) => {
      if (place !== root) throw new Error(`may not use ${place}`);
    };
    let asked = 0;
    const swap = (place: string) => {
      allowed(place);
      if ((asked += 1) !== 2) return;
      renameSync(join(root, '.git'), join(root, '.old'));
      symlinkSync(join(other, '.git'), join(root, '.git'));
    };
    await expect(submit(root, swap)).rejects.toMatchObject({ code: 'NOT_A_GIT_REPO' });
  });

  it('one that gets files of another one after the submit is not used again', async () => {
    const { root, other } = newPlace();
    const { repo } = await submit(root, () => undefined);
    expect(repo.places).toEqual([root]);
    expect(await requireRunGitDir(repo)).toBe(join(root, '.git'));
    writeFileSync(join(root, '.git/objects/info/alternates'), `${other}/.git/objects\n`);
    await expect(inspectRunRepo(repo)).rejects.toMatchObject({ code: 'NOT_A_GIT_REPO' });
    rmSync(join(root, '.git/objects/info/alternates'));
    expect((await inspectRunRepo(repo)).root).toBe(root);
    mkdirSync(join(root, '.git/refs/heads/halo'), { recursive: true });
    symlinkSync(join(other, '.git/refs/heads'), join(root, '.git/refs/heads/halo/x'));
    await expect(requireRunGitDir(repo)).rejects.toMatchObject({ code: 'NOT_A_GIT_REPO' });
  });

  it('a user who may use all repositories has no such limit', async () => {
    const { root, other } = newPlace();
    writeFileSync(join(root, '.git/objects/info/alternates'), `${other}/.git/objects\n`);
    const context = { host: { home: tempDir('home') }, env: {} } as unknown as SubmitContext;
    const prd = { path: join(root, 'prd.json'), bytes: Buffer.from('{"userStories":[]}') };
    const request = { profile: undefined, set: [], allowDirty: true };
    const { repo } = await resolveSubmission(context, { request, source: root, prd });
    expect(repo.places).toBeUndefined();
    expect(await requireRunGitDir(repo)).toBe(join(root, '.git'));
  });
});
