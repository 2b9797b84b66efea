import { readdir, rm, stat, statfs } from 'node:fs/promises';
import { join } from 'node:path';

/** Free bytes of a disk that no fetch takes: `halo doctor` fails below it. A small disk keeps a twentieth. */
const KEPT_BYTES = 1024 ** 3;
/** `ulimit -f` counts such blocks (POSIX). */
const BLOCK = 512;

/**
 * The number of bytes that a fetch may write to the disk of a mirror, half of what is free: the server of a repository
 * decides how much it sends. Undefined if the file system does not say.
 */
export async function diskShare(dir: string): Promise<number | undefined> {
  const found = await statfs(dir).catch(() => undefined);
  if (found === undefined || found.blocks === 0) return undefined;
  const { bavail, blocks, bsize } = found;
  const free = bavail * bsize - Math.min(KEPT_BYTES, (blocks * bsize) / 20);
  return Math.max(0, Math.floor(free / 2 / BLOCK) * BLOCK);
}

/** Removes the packs that git stopped writing at this size: it leaves them where they are. */
export async function removePacksOfSize(dir: string, bytes: number): Promise<void> {
  // Others have just begun their packs.
  if (bytes === 0) return;
  const folder = join(dir, 'objects', 'pack');
  for (const name of await readdir(folder)) {
    if (!name.startsWith('tmp_pack_')) continue;
    const { size } = await stat(join(folder, name)).catch(() => ({ size: -1 }));
    if (size === bytes) await rm(join(folder, name), { force: true });
  }
}
