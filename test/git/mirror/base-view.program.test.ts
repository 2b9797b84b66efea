import { readdirSync, rmSync, statSync, utimesSync } from 'node:fs';
import { dirname, join } from 'node:path';
import { expect, it } from 'vitest';
import { addToView, createView, extendView } from '../../../src/git/mirror/base-view.ts';
import { updateMirror } from '../../../src/git/mirror/mirror.ts';
import { sendCommit } from '../../../src/git/mirror/send-commit.ts';
import { commitChain, commitFiles, makeRepo, run } from '../../support/repository/git-fixture.ts';
import { tempDir } from '../../support/temp-dir.ts';

const objectsIn = (dir: string) =>
  run(dir, ['cat-file', '--batch-all-objects', '--batch-check=%(objectname)', '--unordered']).split('\n').sort();
const reachedFrom = (root: string, ...commits: string[]) =>
  run(root, ['rev-list', '--objects', '--no-object-names', ...commits])
    .split('\n')
    .sort();
const inodesOf = (packs: string) => readdirSync(packs).map((name) => statSync(join(packs, name)).ino);

/** A repository, its mirror and views of it. */
function makeWorld(init: string[] = []) {
  const home = tempDir();
  const root = join(home, 'src');
  if (init.length > 0) run(home, ['init', '-q', '-b', 'main', ...init, root]);
  const base = makeRepo(root, { 'README.md': 'hello\n', 'a/b.txt': 'x\n' });
  const bring = async (commit: string) =>
    (await updateMirror({ home, name: 'm', from: join(root, '.git'), commit })).dir;
  let count = 0;
  const view = async (mirrorDir: string, ...commits: string[]) => {
    const dir = join(home, `view-${(count += 1)}.git`);
    await createView(dir, mirrorDir);
    for (const commit of commits) await addToView(dir, { mirrorDir, commit });
    return dir;
  };
  /** A commit on a branch of its own that starts at `from`. */
  const commitOn = (from: string, file: string) => {
    run(root, ['checkout', '-q', '--detach', from]);
    return commitFiles(root, { [file]: file }, file);
  };
  return { root, base, bring, view, commitOn };
}

it('a view has everything that its commit reaches and nothing of other branches, in any order of creation', async () => {
  const { root, base, bring, view, commitOn } = makeWorld();
  const other = commitOn(base, 'other-branch');
  const next = commitOn(base, 'next');
  await bring(other);
  const mirrorDir = await bring(base);
  const first = await view(mirrorDir, base);
  await bring(next);
  expect(objectsIn(mirrorDir)).toEqual(reachedFrom(root, other, next));
  expect(objectsIn(first)).toEqual(reachedFrom(root, base));
  expect(objectsIn(await view(mirrorDir, next))).toEqual(reachedFrom(root, next));
  expect(objectsIn(await view(mirrorDir, other))).toEqual(reachedFrom(root, other));
  run(first, ['fsck', '--strict', base]);
});

it('a view of a mirror with one commit shares its packs, and later views share those of the previous one', async () => {
  const { root, base, bring, view, commitOn } = makeWorld();
  const mirrorDir = await bring(base);
  const first = await view(mirrorDir, base);
  const packs = (dir: string) => inodesOf(join(dir, 'objects/pack'));
  expect(packs(mirrorDir)).toEqual(expect.arrayContaining(packs(first)));
  const next = commitOn(base, 'next');
  await bring(next);
  const second = await view(mirrorDir, next);
  expect(packs(second)).toEqual(expect.arrayContaining(packs(first)));
  expect(objectsIn(second)).toEqual(reachedFrom(root, next));
});

it('a view is extended by the pack of a commit that lands, and not without a view of its parent', async () => {
  const { root, base, bring, view, commitOn } = makeWorld();
  const mirrorDir = await bring(base);
  const first = await view(mirrorDir, base);
  const [next, tip] = [commitOn(base, 'next'), commitOn('HEAD', 'tip')];
  const land = async (commit: string) =>
    (await sendCommit({ from: join(root, '.git'), stores: [mirrorDir], commit })).pack;
  const packs = await Promise.all([next, tip].map(land));
  const kept = () => readdirSync(join(dirname(mirrorDir), 'views'));
  await extendView(mirrorDir, { commit: tip, parent: next, pack: packs[1]! });
  expect(kept()).toEqual([base]);
  await extendView(mirrorDir, { commit: next, parent: base, pack: packs[0]! });
  await extendView(mirrorDir, { commit: next, parent: base, pack: packs[0]! });
  expect(kept().sort()).toEqual([base, next].sort());
  const second = await view(mirrorDir, next);
  expect(objectsIn(second)).toEqual(reachedFrom(root, next));
  expect(objectsIn(first)).toEqual(reachedFrom(root, base));
  run(second, ['fsck', '--strict', next]);
  await expect(extendView(mirrorDir, { commit: tip, parent: next, pack: 'f'.repeat(40) })).rejects.toThrow('ENOENT');
  expect(objectsIn(await view(mirrorDir, tip))).toEqual(reachedFrom(root, tip));
});

it('a view to which a commit is added shows both', async () => {
  const { root, base, bring, view, commitOn } = makeWorld();
  const [left, right] = [commitOn(base, 'left'), commitOn(base, 'right')];
  const mirrorDir = await bring(left);
  await bring(right);
  await bring(commitOn(base, 'third'));
  expect(objectsIn(await view(mirrorDir, left, right))).toEqual(reachedFrom(root, left, right));
});

it('a view in use survives the removal of the cached ones, and few are cached', async () => {
  const { root, base, bring, view } = makeWorld();
  const mirrorDir = await bring(base);
  const first = await view(mirrorDir, base);
  const kept = join(dirname(mirrorDir), 'views');
  utimesSync(join(kept, base), 1, 1);
  const names = Array.from({ length: 32 }, (_, index) => `f${index}`);
  const commits = commitChain(root, base, names);
  for (const commit of commits) {
    await bring(commit);
    await view(mirrorDir, commit);
  }
  const tip = commits.at(-1) ?? '';
  expect(readdirSync(kept)).toHaveLength(32);
  expect(readdirSync(kept)).not.toContain(base);
  expect(readdirSync(join(kept, tip)).length).toBeLessThanOrEqual(2 * 21);
  rmSync(kept, { recursive: true });
  expect(objectsIn(first)).toEqual(reachedFrom(root, base));
  expect(objectsIn(await view(mirrorDir, tip))).toEqual(reachedFrom(root, tip));
});

it('views exist for a repository with long object ids, and for a shallow one', async () => {
  const long = makeWorld(['--object-format=sha256']);
  expect(objectsIn(await long.view(await long.bring(long.base), long.base))).toEqual(reachedFrom(long.root, long.base));
  const { root, base, commitOn } = makeWorld();
  const tip = commitOn(base, 'tip');
  const home = tempDir();
  run(home, ['clone', '-q', '--bare', '--depth=1', `file://${root}`, 'shallow.git'], '');
  const from = join(home, 'shallow.git');
  const { dir } = await updateMirror({ home, name: 'm', from, commit: run(from, ['rev-parse', 'HEAD']) });
  const view = join(home, 'view.git');
  await createView(view, dir);
  await addToView(view, { mirrorDir: dir, commit: tip });
  expect(run(view, ['log', '--format=%s', tip])).toBe('tip');
});

it('a commit that is missing in the mirror is an error, and leaves nothing behind', async () => {
  const { base, bring, view } = makeWorld();
  const mirrorDir = await bring(base);
  await expect(view(mirrorDir, 'f'.repeat(40))).rejects.toMatchObject({ code: 'GIT_FAILED' });
  expect(readdirSync(join(dirname(mirrorDir), 'views'))).toEqual([]);
});
