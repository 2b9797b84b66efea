import { randomBytes } from 'node:crypto';
import { open, rename, rm } from 'node:fs/promises';
import { dirname } from 'node:path';

/**
 * Replaces a file in one step: readers see the old content or the new, never a part.
 * With `durable` the content is on the disk before the name points at it, and so is the name when this resolves.
 */
export async function writeAtomic(path: string, data: string | Uint8Array, durable = false): Promise<void> {
  const temp = `${path}.${randomBytes(4).toString('hex')}.tmp`;
  try {
    const file = await open(temp, 'wx', 0o600);
    try {
      await file.writeFile(data);
      if (durable) await file.sync();
    } finally {
      await file.close();
    }
    await rename(temp, path);
    if (durable) await syncPath(dirname(path));
  } catch (error) {
    await rm(temp, { force: true });
    throw error;
  }
}

/** What file systems answer that cannot sync a folder, such as some of networks and virtual machines. */
const CANNOT_SYNC = ['EINVAL', 'ENOTSUP', 'EOPNOTSUPP', 'ENOSYS'];

/** Makes the content of a file durable, or the names in a folder, after a rename or a new file in it. */
export async function syncPath(path: string): Promise<void> {
  const file = await open(path, 'r');
  try {
    await file.sync().catch((error: NodeJS.ErrnoException) => {
      if (!CANNOT_SYNC.includes(error.code ?? '')) throw error;
    });
  } finally {
    await file.close();
  }
}

/**
 * Makes a file or folder durable, and its name in each folder above it up to `top`. What is not there is passed over:
 * whoever asks may not know which of several files a program wrote.
 */
export async function syncUpTo(path: string, top: string): Promise<void> {
  for (let each = path; ; each = dirname(each)) {
    await syncPath(each).catch((error: NodeJS.ErrnoException) => {
      if (error.code !== 'ENOENT' && error.code !== 'ENOTDIR') throw error;
    });
    if (each === top || each === dirname(each)) return;
  }
}
