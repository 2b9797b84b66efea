import { lstat, rm } from 'node:fs/promises';
import { join } from 'node:path';
import { sleep } from '../../lib/async.ts';

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
