import { readdir } from 'node:fs/promises';
import { join } from 'node:path';
import { LockBusyError } from '../../lib/lock.ts';
import { git } from '../process/git.ts';
import { withMirrorLock } from './mirror.ts';

/** Each landed story leaves a pack; git looks through all of them. */
const MANY_PACKS = 40;

/**
 * Brings the packs of a mirror together once there are many. Nothing is thrown away, reachable or not: another process
 * may just have brought objects that no ref names yet. Readers find what moved by themselves. Only one process does it.
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
