import { readdir, rm, stat, statfs } from 'node:fs/promises';
import { join } from 'node:path';

/** Free bytes of a disk that no fetch takes: `halo doctor` fails below it. A small disk keeps a twentieth. */
const KEPT_BYTES = 1024 ** 3;
/** `ulimit -f` counts such blocks (POSIX). */
const BLOCK = 512;

let shared = 0;

/**
 * Runs a fetch with the number of bytes that it may write to the disk of a mirror: half of what is free and no other fetch
 * of this process may take. The server of a repository decides how much it sends.
 */
export async function withDiskShare<T>(dir: string, fetch: (bytes: number) => Promise<T>): Promise<T> {
  const { bavail, blocks, bsize } = await statfs(dir);
  const free = bavail * bsize - Math.min(KEPT_BYTES, (blocks * bsize) / 20) - shared;
  const bytes = Math.max(0, Math.floor(free / 2 / BLOCK) * BLOCK);
  shared += bytes;
  try {
    return await fetch(bytes);
  } finally {
    shared -= bytes;
  }
}

/** Removes the packs that git stopped writing at this size: it leaves them where they are. */
export async function removePacksOfSize(dir: string, bytes: number): Promise<void> {
  const folder = join(dir, 'objects', 'pack');
  for (const name of await readdir(folder)) {
    if (!name.startsWith('tmp_pack_')) continue;
    const { size } = await stat(join(folder, name)).catch(() => ({ size: -1 }));
    if (size === bytes) await rm(join(folder, name), { force: true });
  }
}
