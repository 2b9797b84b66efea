import { lstat } from 'node:fs/promises';
import { dirname, join } from 'node:path';
import { syncUpTo } from '../../lib/atomic-write.ts';
import { git } from '../process/git.ts';
import { splitZero } from '../split-zero.ts';
import { gitDirAt } from './worktrees.ts';

/** Makes the names of the packs of a repository outlast a power cut: git itself syncs no folder. */
export async function syncPacks(gitDir: string): Promise<void> {
  await syncUpTo(join(gitDir, 'objects', 'pack'), gitDir);
}

/** Makes a ref that was just written outlast a power cut, with its log, whichever way the repository keeps refs. */
export async function syncRef(gitDir: string, ref: string): Promise<void> {
  await Promise.all([
    syncUpTo(join(gitDir, ref), gitDir),
    syncUpTo(join(gitDir, 'logs', ref), gitDir),
    syncUpTo(join(gitDir, 'reftable'), gitDir),
  ]);
}

/** Makes the files of a checkout outlast a power cut that git has just changed, going from one commit to another. */
export async function syncCheckout(
  root: string,
  { gitDir, from, to }: { gitDir: string; from: string; to: string },
): Promise<void> {
  const args = ['diff-tree', '-r', '-z', '--name-only', '--no-renames', from, to];
  const paths = splitZero((await git(args, { gitDir })).stdout).map((path) => join(root, path));
  // A link has no content to sync, and what it points to is not of the commit.
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
