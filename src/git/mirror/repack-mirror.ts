import { readdir } from 'node:fs/promises';
import { join } from 'node:path';
import { LockBusyError } from '../../lib/lock.ts';
import { git } from '../process/git.ts';
import { withMirrorLock } from './mirror.ts';

/** Each landed story adds a pack, and git searches all of them. */
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
