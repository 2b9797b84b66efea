import { lstat, readdir, rm } from 'node:fs/promises';
import { dirname, join } from 'node:path';
import { pathExists } from '../../lib/fs.ts';
import { LockBusyError } from '../../lib/lock.ts';
import { RUN_ID } from '../../lib/run-id.ts';
import { git, gitText } from '../process/git.ts';
import { withMirrorLock } from './mirror.ts';

/** Unreachable objects that are younger may belong to a commit that another process is storing. */
const GRACE = '1.day.ago';
const REPACK_MS = 3_600_000;

/**
 * Deletes the refs of a removed run next to a mirror: its locked tests and kept work in the held repository, and its branch in the mirror.
 * The branch in the user's repository stays. Safe to repeat.
 */
export async function releaseRun(mirrorDir: string, runId: string): Promise<void> {
  if (!RUN_ID.test(runId)) return;
  await deleteRefs(mirrorDir, `refs/heads/halo/${runId}`);
  for (const kind of ['tests', 'held']) await deleteRefs(heldOf(mirrorDir), `refs/halo/${kind}/${runId}/`);
}

/** Removes the objects of the held repository that no ref needs. Skipped when another process holds the mirror's lock. */
export async function repackHeld(mirrorDir: string): Promise<void> {
  const gitDir = heldOf(mirrorDir);
  if (!(await pathExists(gitDir))) return;
  const args = ['repack', '-A', '-d', '-l', '--quiet', `--unpack-unreachable=${GRACE}`];
  const repack = () => git(args, { gitDir, timeoutMs: REPACK_MS, durable: true });
  await withMirrorLock(mirrorDir, repack, { waitMs: 0 }).catch((error: unknown) => {
    if (!(error instanceof LockBusyError)) throw error;
  });
}

async function deleteRefs(gitDir: string, pattern: string): Promise<void> {
  if (!(await pathExists(gitDir))) return;
  const names = await gitText(['for-each-ref', '--format=%(refname)', pattern], { gitDir });
  for (const name of names.split('\n').filter((each) => each !== ''))
    await git(['update-ref', '--no-deref', '-d', name], { gitDir, durable: true });
}

function heldOf(mirrorDir: string): string {
  return join(dirname(mirrorDir), 'held.git');
}

/** Each passed story adds a pack, and git searches all of them. */
const MANY_PACKS = 40;

/**
 * Repacks a mirror once it has `many` packs. Keeps unreachable objects as well: another process may have added objects
 * that no ref points to yet. Concurrent readers are not affected. Skipped when another process holds the mirror's lock.
 */
export async function repackMirror(mirrorDir: string, many = MANY_PACKS): Promise<void> {
  const packs = (await readdir(join(mirrorDir, 'objects', 'pack'))).filter((name) => name.endsWith('.pack'));
  if (packs.length < many) return;
  const repack = () =>
    git(['repack', '--geometric=2', '-d', '--quiet'], { gitDir: mirrorDir, timeoutMs: 3_600_000, durable: true });
  await withMirrorLock(mirrorDir, repack, { waitMs: 0 }).catch((error: unknown) => {
    if (!(error instanceof LockBusyError)) throw error;
  });
}

/** halo limits every git process to one hour; files older than this are abandoned. */
const WORK_MS = 3_660_000;
/** Git holds locks of refs and small files for moments only. */
const LOCK_MS = 120_000;

/** Names of packs, indexes and objects that git has not finished writing. */
const UNFINISHED = /^\.?tmp[-_]/;

/**
 * Removes files that killed git processes left in one of halo's own repositories: packs and objects under temporary
 * names, and lock files, which would block other writers. Only files that are too old to belong to a running process are
 * removed. Returns their paths. Safe while git runs there, and if the repository does not exist.
 */
export async function sweepTemporary(gitDir: string): Promise<string[]> {
  const objects = join(gitDir, 'objects');
  const folders = [objects, ...(await namesOf(objects)).filter((name) => name !== 'info').map((n) => join(objects, n))];
  const unfinished = (await Promise.all(folders.map((dir) => filesIn(dir)))).flat();
  const locks = [...(await filesIn(gitDir)), ...(await filesIn(join(gitDir, 'refs'), true))];
  const left = [
    ...unfinished.filter(({ name }) => UNFINISHED.test(name)).map((file) => ({ ...file, mostMs: WORK_MS })),
    ...locks.filter(({ name }) => name.endsWith('.lock')).map((file) => ({ ...file, mostMs: mostOf(file.name) })),
  ];
  const removed: string[] = [];
  for (const { path, mostMs } of left) {
    const madeMs = (await lstat(path).catch(() => undefined))?.mtimeMs ?? Infinity;
    if (Date.now() - madeMs <= mostMs) continue;
    await rm(path, { force: true, recursive: true });
    removed.push(path);
  }
  return removed;
}

/** A fetch from a shallow repository holds `shallow.lock` until it ends. */
function mostOf(name: string): number {
  return name === 'shallow.lock' ? WORK_MS : LOCK_MS;
}

async function filesIn(dir: string, below = false): Promise<{ name: string; path: string }[]> {
  const entries = await readdir(dir, { withFileTypes: true, recursive: below }).catch(absent);
  return entries.map(({ name, parentPath }) => ({ name, path: join(parentPath, name) }));
}

async function namesOf(dir: string): Promise<string[]> {
  return (await filesIn(dir)).map(({ name }) => name);
}

function absent(error: NodeJS.ErrnoException): [] {
  if (error.code === 'ENOENT' || error.code === 'ENOTDIR') return [];
  throw error;
}
