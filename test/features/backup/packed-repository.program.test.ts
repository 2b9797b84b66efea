import { execFileSync } from 'node:child_process';
import { mkdirSync, readdirSync } from 'node:fs';
import { copyFile } from 'node:fs/promises';
import { dirname, join } from 'node:path';
import { expect, it } from 'vitest';
import {
  readPackedRefs,
  readRunRefs,
  unpackRepository,
  withPacks,
  type RunRefs,
} from '../../../src/features/backup/git/packed-repository.ts';
import { holdCommit } from '../../../src/git/commit/held-commits.ts';
import { mirrorPath, updateMirror } from '../../../src/git/mirror/mirror.ts';
import { newRepository } from '../../support/repository/new-repository.ts';
import { tempDir } from '../../support/temp-dir.ts';

const RUN = '0tbq1aaaaaaaaaaa';
const NAME = 'r-1';
const signal = new AbortController().signal;

/** A mirror with the branch of a run and its note, and a held commit on top of it. */
async function filledHome() {
  const [home, repository] = [tempDir('halo-packed'), newRepository()];
  const from = join(repository.root, '.git');
  const { dir } = await updateMirror({ home, name: NAME, from });
  const git = (...args: string[]) => execFileSync('git', [`--git-dir=${dir}`, ...args], { encoding: 'utf8' }).trim();
  const add = (file: string, ref: string) => {
    repository.write(file, `${file}\n`);
    const commit = repository.commit(file);
    git('fetch', '-q', from, `+${commit}:${ref}`);
    return commit;
  };
  const landed = add('landed', `refs/heads/halo/${RUN}`);
  repository.git('notes', '--ref=halo', 'add', '-m', 'the proof', landed);
  git('fetch', '-q', from, '+refs/notes/halo:refs/notes/halo');
  repository.write('held', 'held\n');
  const held = repository.commit('held');
  await holdCommit({ candidateDir: from, mirrorDir: dir, runId: RUN, storyKey: 'b', commit: held });
  return { place: { home, name: NAME }, git, add, landed, held };
}

async function moved(place: { home: string; name: string }, cuts: ReadonlyMap<string, RunRefs>) {
  const to = { home: tempDir('halo-unpacked'), name: NAME };
  const refs = (await readPackedRefs(place, { cuts, isOnlyCopy: true }))!;
  const dir = dirname(mirrorPath(to.home, NAME));
  mkdirSync(dir, { recursive: true });
  const use = (kind: string, path: string) => copyFile(path, join(dir, `${kind}.pack`));
  await withPacks(place, refs, { signal, use });
  await unpackRepository(to, refs, signal);
  const git = (kind: string, ...args: string[]) =>
    execFileSync('git', [`--git-dir=${join(dir, `${kind}.git`)}`, ...args], { encoding: 'utf8' }).trim();
  return { dir, git };
}

it('what landed only in the mirror, its notes and held commits are in a moved home, whole', async () => {
  const { place, landed, held } = await filledHome();
  const { dir, git } = await moved(place, new Map());
  expect(git('mirror', 'rev-parse', `halo/${RUN}`)).toBe(landed);
  expect(git('mirror', 'notes', '--ref=halo', 'show', landed)).toBe('the proof');
  expect(git('held', 'rev-parse', `refs/halo/held/${RUN}/b`)).toBe(held);
  for (const kind of ['mirror', 'held']) git(kind, 'fsck', '--strict');
  // The sandboxes of other runs see the mirror.
  expect(() => git('mirror', 'cat-file', '-e', held)).toThrow();
  expect(readdirSync(dir).sort()).toEqual(['held.git', 'mirror.git']);
  expect(readdirSync(dirname(mirrorPath(place.home, NAME))).filter((name) => name.startsWith('backup'))).toEqual([]);
});

it('the refs of a run are those of the moment at which it was read, although it has moved since', async () => {
  const { place, git: now, add, landed, held } = await filledHome();
  const cuts = new Map([[RUN, await readRunRefs(place, RUN)]]);
  const next = add('next', `refs/heads/halo/${RUN}`);
  expect(now('rev-parse', `halo/${RUN}`)).toBe(next);
  execFileSync('git', ['--git-dir', join(dirname(mirrorPath(place.home, NAME)), 'held.git'), 'update-ref', '-d', `refs/halo/held/${RUN}/b`]); // prettier-ignore
  const { git } = await moved(place, cuts);
  expect(git('mirror', 'rev-parse', `halo/${RUN}`)).toBe(landed);
  expect(git('held', 'rev-parse', `refs/halo/held/${RUN}/b`)).toBe(held);
});

it('of a repository with a path, which has its branches itself, only held commits are saved', async () => {
  const { place } = await filledHome();
  const cuts = new Map([[RUN, { mirror: {}, held: {} }]]);
  expect(await readPackedRefs(place, { cuts, isOnlyCopy: false })).toBeUndefined();
  expect(await readPackedRefs(place, { cuts: new Map(), isOnlyCopy: false })).toMatchObject({ hexLength: 40 });
});
