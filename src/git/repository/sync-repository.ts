import { lstat, rm } from 'node:fs/promises';
import { dirname, join } from 'node:path';
import { sleep } from '../../lib/async.ts';
import { pathExists, syncUpTo } from '../../lib/fs.ts';
import { splitNul } from '../process/git-output.ts';
import { git } from '../process/git.ts';
import { gitDirAt } from './worktrees.ts';

/** Syncs the pack folder of a repository to disk: git itself does not sync folders. */
export async function syncPacks(gitDir: string): Promise<void> {
  await syncUpTo(join(gitDir, 'objects', 'pack'), gitDir);
}

/** Syncs a written ref and its reflog to disk, for both ref storage formats. */
export async function syncRef(gitDir: string, ref: string): Promise<void> {
  await syncUpTo(join(gitDir, ref), gitDir);
  for (const other of [join(gitDir, 'logs', ref), join(gitDir, 'reftable')])
    if (await pathExists(other)) await syncUpTo(other, gitDir);
}

/** Syncs the files of a checkout to disk that differ between two commits, after git has changed them. */
export async function syncCheckout(
  root: string,
  { gitDir, from, to }: { gitDir: string; from: string; to: string },
): Promise<void> {
  const args = ['diff-tree', '-r', '-z', '--name-only', '--no-renames', from, to];
  const paths = splitNul((await git(args, { gitDir })).stdout).map((path) => join(root, path));
  // Links have no content to sync, and their targets are not part of the commit.
  for (const path of paths)
    if ((await lstat(path).catch(() => undefined))?.isFile() === true) await syncUpTo(path, path);
  for (const folder of new Set(paths.flatMap((path) => foldersOf(path, root)))) await syncUpTo(folder, folder);
  await syncUpTo(join(await gitDirAt(root), 'index'), gitDir);
}

/** Those above a path, up to and with `top`. */
function foldersOf(path: string, top: string): string[] {
  const folder = dirname(path);
  return folder === top || folder === dirname(folder) ? [folder] : [folder, ...foldersOf(folder, top)];
}

/** Git holds the lock of a ref for moments only. One that is older was left by a power failure or a killed process. */
const ABANDONED_MS = 30_000;
const POLL_MS = 100;

/**
 * Waits until no process holds the lock of a ref that only halo writes, and removes a lock that a killed git process left there.
 * Takes at most half a minute; gives up if the lock is still held then, so that git reports it.
 */
export async function releaseAbandonedLock(gitDir: string, ref: string): Promise<void> {
  const path = join(gitDir, `${ref}.lock`);
  for (const end = Date.now() + ABANDONED_MS; Date.now() <= end + POLL_MS; await sleep(POLL_MS)) {
    const lock = await lstat(path).catch(() => undefined);
    if (lock === undefined) return;
    if (Date.now() - lock.mtimeMs < ABANDONED_MS) continue;
    await rm(path, { force: true });
    return;
  }
}
