import { readdirSync, readFileSync, rmSync, statSync, truncateSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { describe, expect, it } from 'vitest';
import { holdCommit, openHeldRepository, readHeldCommit } from '../../../src/git/commit/held-commits.ts';
import { moveBranch, transferCommit } from '../../../src/git/land/land-commit.ts';
import { repairMirror } from '../../../src/git/mirror/repair-mirror.ts';
import { mirrorPath, updateMirror } from '../../../src/git/mirror/mirror.ts';
import { commitFiles, makeRepo, run } from '../../support/repository/git-fixture.ts';
import { tempDir } from '../../support/temp-dir.ts';

const ref = 'refs/heads/halo/r1';
const zero = (path: string) => writeFileSync(path, Buffer.alloc(statSync(path).size));
const empty = (path: string) => truncateSync(path, 0);

/** A repository, its mirror with a landed commit, and one beside it that waits for a person. */
async function makeMirror({ url = false } = {}) {
  const home = tempDir();
  const root = join(home, 'src');
  const base = makeRepo(root, { 'README.md': 'hello\n', 'a/b.txt': 'x\n' });
  const from = url ? `file://${root}` : join(root, '.git');
  const { dir } = await updateMirror({ home, name: 'm', from, commit: base });
  run(home, ['clone', '-q', root, 'agent']);
  const candidateDir = join(home, 'agent/.git');
  const landed = commitFiles(join(home, 'agent'), { new: '1' }, 'landed');
  const place = { hostGitDir: url ? dir : from, mirrorDir: dir, ref, commit: landed };
  await (
    await transferCommit({ ...place, candidateDir })
  )();
  await moveBranch({ ...place, expected: undefined });
  const held = commitFiles(join(home, 'agent'), { new: '2' }, 'held');
  await holdCommit({ candidateDir, mirrorDir: dir, runId: 'r1', storyKey: 'a', commit: held });
  return { source: { home, name: 'm', from }, dir, base, landed, held };
}

const packsOf = (dir: string) => readdirSync(join(dir, 'objects/pack')).map((name) => join(dir, 'objects/pack', name));
/** The file of this kind of the oldest pack, which has the base. */
const ofBase = (dir: string, base: string, kind: string) => {
  const idx = packsOf(dir).find(
    (path) => path.endsWith('.idx') && run(dir, ['show-index'], readFileSync(path)).includes(base),
  );
  return idx!.replace(/idx$/, kind);
};

const DAMAGES: [what: string, damage: (dir: string, base: string) => void][] = [
  ['its HEAD is empty', (dir) => empty(join(dir, 'HEAD'))],
  ['its configuration is empty', (dir) => empty(join(dir, 'config'))],
  ['the ref of the base is empty', (dir, base) => empty(join(dir, 'refs/halo/base', base))],
  ['the pack of the base is zeros', (dir, base) => zero(ofBase(dir, base, 'pack'))],
  ['the pack of the base is cut off', (dir, base) => truncateSync(ofBase(dir, base, 'pack'), 40)],
  ['the index of that pack is empty', (dir, base) => empty(ofBase(dir, base, 'idx'))],
  ['that pack is gone', (dir, base) => ['pack', 'idx'].forEach((kind) => rmSync(ofBase(dir, base, kind)))],
];

describe('hazard 47: a damaged mirror is rebuilt', () => {
  it.each(DAMAGES)('%s', async (_what, damage) => {
    const { source, dir, base, landed, held } = await makeMirror();
    damage(dir, base);
    expect(await repairMirror(source)).toBe(true);
    run(dir, ['fsck', '--strict']);
    expect(run(dir, ['rev-parse', ref])).toBe(landed);
    expect(await readHeldCommit(await openHeldRepository(dir), held)).toMatchObject({ parent: landed });
    await updateMirror({ ...source, commit: base });
    expect(run(dir, ['rev-parse', `refs/halo/base/${base}`])).toBe(base);
    expect(await repairMirror(source)).toBe(false);
  });

  it('a missing mirror, including commits that the source never had', async () => {
    const { source, dir, base } = await makeMirror();
    rmSync(dir, { recursive: true });
    expect(await repairMirror(source)).toBe(true);
    expect((await updateMirror({ ...source, commit: base })).dir).toBe(dir);
    run(dir, ['fsck', '--strict']);
  });

  it('keeps landed commits of a repository with a URL, because they exist only there', async () => {
    const { source, dir, base, landed, held } = await makeMirror({ url: true });
    zero(ofBase(dir, base, 'pack'));
    empty(join(dir, 'HEAD'));
    // No source may be asked for what is missing: it stays missing.
    const { ino } = statSync(dir);
    expect(await repairMirror(source)).toBe(false);
    expect(statSync(dir).ino).toBe(ino);
    expect(await repairMirror({ ...source, access: {} })).toBe(true);
    run(dir, ['fsck', '--strict']);
    expect(run(dir, ['rev-parse', ref])).toBe(landed);
    expect(await readHeldCommit(await openHeldRepository(dir), held)).toMatchObject({ parent: landed });
  });

  it('objects that a URL no longer has are kept beside the mirror', async () => {
    const { source, dir, base, landed } = await makeMirror({ url: true });
    packsOf(dir)
      .filter((path) => path.endsWith('.pack'))
      .forEach(zero);
    expect(await repairMirror({ ...source, access: {} })).toBe(true);
    expect(run(dir, ['rev-parse', `refs/halo/base/${base}`])).toBe(base);
    expect(readFileSync(join(`${dir}.damaged`, ref), 'utf8').trim()).toBe(landed);
  });

  it('an undamaged mirror is not changed, also with objects that git would not create', async () => {
    const { source, dir } = await makeMirror();
    const id = run(
      dir,
      ['hash-object', '-t', 'commit', '-w', '--literally', '--stdin'],
      'tree 4b825dc642cb6eb9a060e54bf8d69288fbee4904\nauthor x\ncommitter x\n\nodd\n',
    );
    run(dir, ['hash-object', '-t', 'tree', '-w', '--stdin']);
    writeFileSync(join(dir, 'refs/halo/base', id), `${id}\n`);
    const { ino } = statSync(dir);
    expect(await repairMirror(source)).toBe(false);
    expect(statSync(dir).ino).toBe(ino);
  });

  it('a mirror is rebuilt once for several concurrent requests', async () => {
    const { source, dir } = await makeMirror();
    empty(join(dir, 'HEAD'));
    expect((await Promise.all([1, 2, 3].map(() => repairMirror(source)))).filter(Boolean)).toEqual([true]);
    expect(mirrorPath(source.home, source.name)).toBe(dir);
  });
});
