import { rm } from 'node:fs/promises';
import { join } from 'node:path';
import { acquireLock, isLocked, listLocks, type AcquiredLock } from '../lib/lock.ts';

/** Notes in the folder `uses` of `dir` that this process uses a volume, until the lock is released. */
export async function useVolume(dir: string, volume: string, holder: string): Promise<AcquiredLock> {
  return acquireLock(join(dir, 'uses', `${volume}@${holder}`), { makeFolder: true });
}

/** Whether a live process uses the volume, as `useVolume` noted. */
export async function isVolumeUsed(dir: string, volume: string): Promise<boolean> {
  for (const name of await listLocks(join(dir, 'uses'))) {
    if (!name.startsWith(`${volume}@`)) continue;
    const path = join(dir, 'uses', name);
    if (await isLocked(path)) return true;
    await rm(path, { force: true });
  }
  return false;
}
