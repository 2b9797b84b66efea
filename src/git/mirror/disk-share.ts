import { readdir, rm, stat, statfs } from 'node:fs/promises';
import { join } from 'node:path';
import { defined } from '../../lib/guards.ts';
import { tryGit, type GitOptions, type GitOutcome } from '../process/git.ts';

/** Free bytes of a disk that no fetch takes: `halo doctor` fails below it. A small disk keeps a twentieth. */
const KEPT_BYTES = 1024 ** 3;
/** `ulimit -f` counts such blocks (POSIX). */
const BLOCK = 512;

/**
 * Runs a fetch that may write half of what is free on the disk of its repository: a server decides how much it sends.
 * `tooLarge`: it was stopped after this number of bytes, and its pack is removed. Throws GIT_MISSING.
 */
export async function fetchWithinShare(
  args: string[],
  options: GitOptions & { gitDir: string },
): Promise<GitOutcome & { tooLarge?: number }> {
  const fileBytes = await diskShare(options.gitDir);
  // As one file: the limit is one of files.
  const packed = ['-c', 'fetch.unpackLimit=1', ...args];
  const fetched = await tryGit(packed, { ...options, ...defined({ fileBytes }) });
  if (fileBytes === undefined || fetched.exitCode === 0 || !/File too large/i.test(fetched.stderr)) return fetched;
  await removePacksOfSize(options.gitDir, fileBytes);
  return { ...fetched, tooLarge: fileBytes };
}

/** In bytes; undefined if the file system does not say. */
async function diskShare(dir: string): Promise<number | undefined> {
  const found = await statfs(dir).catch(() => undefined);
  if (found === undefined || found.blocks === 0) return undefined;
  const { bavail, blocks, bsize } = found;
  const free = bavail * bsize - Math.min(KEPT_BYTES, (blocks * bsize) / 20);
  return Math.max(0, Math.floor(free / 2 / BLOCK) * BLOCK);
}

/** Removes the packs that git stopped writing at this size: it leaves them where they are. */
async function removePacksOfSize(dir: string, bytes: number): Promise<void> {
  // Others have just begun their packs.
  if (bytes === 0) return;
  const folder = join(dir, 'objects', 'pack');
  for (const name of await readdir(folder)) {
    if (!name.startsWith('tmp_pack_')) continue;
    const { size } = await stat(join(folder, name)).catch(() => ({ size: -1 }));
    if (size === bytes) await rm(join(folder, name), { force: true });
  }
}
