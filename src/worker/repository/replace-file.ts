import { randomBytes } from 'node:crypto';
import { open, readdir, realpath, rename, rm, stat, type FileHandle } from 'node:fs/promises';
import { basename, dirname, join } from 'node:path';
import { reach } from '../../lib/failpoint.ts';
import { syncPath } from '../../lib/atomic-write.ts';
import { readRegularFile } from '../../lib/read-file.ts';
import { MAX_PRD_BYTES } from '../../prd/decode-prd.ts';

const MOST_TRIES = 3;

/** Makes the new content of a file from its old one; undefined leaves it alone. */
export type Change = (bytes: Uint8Array) => Uint8Array | undefined;

/**
 * Changes a file of the user's in one step: readers see the old content or the new. Links stay links, mode and owner
 * stay as they are, and what an editor saves meanwhile is not written over: `change` is then asked again.
 * Throws what the file system and `change` throw; the file is as it was then.
 */
export async function replaceFile(path: string, change: Change): Promise<void> {
  const target = await realpath(path);
  for (let tries = 1; ; tries++) {
    const temp = `${target}.${process.pid}-${randomBytes(4).toString('hex')}.tmp`;
    try {
      if (await tryReplace({ target, temp, change })) return;
    } finally {
      await rm(temp, { force: true });
    }
    if (tries === MOST_TRIES) throw new Error(`${target} changes all the time`);
  }
}

/** Whether there is nothing left to do. */
async function tryReplace({
  target,
  temp,
  change,
}: {
  target: string;
  temp: string;
  change: Change;
}): Promise<boolean> {
  const before = await stat(target);
  const changed = change(await readRegularFile(target, MAX_PRD_BYTES));
  if (changed === undefined) return true;
  await clearDead(target);
  const fresh = await open(temp, 'wx', 0o600);
  await fill(fresh, changed, before).finally(() => fresh.close());
  const now = await stat(target);
  if (now.mtimeMs !== before.mtimeMs || now.ino !== before.ino || now.size !== before.size) return false;
  await reach('write-back.written');
  await rename(temp, target);
  await syncPath(dirname(target));
  return true;
}

/** Removes what a process left beside the file that died before it could rename it. Its work is done here anew. */
async function clearDead(target: string): Promise<void> {
  const folder = dirname(target);
  const start = `${basename(target)}.`;
  for (const name of await readdir(folder)) {
    const [, pid] = (name.startsWith(start) && /^(\d+)-[0-9a-f]{8}\.tmp$/.exec(name.slice(start.length))) || [];
    if (pid !== undefined && !isAlive(Number(pid))) await rm(join(folder, name), { force: true });
  }
}

function isAlive(pid: number): boolean {
  try {
    process.kill(pid, 0);
    return true;
  } catch (error) {
    return (error as NodeJS.ErrnoException).code === 'EPERM';
  }
}

async function fill(file: FileHandle, content: Uint8Array, like: { uid: number; gid: number; mode: number }) {
  await file.writeFile(content);
  // Only root may give a file away; for all others it is theirs already, or stays as it was made.
  await file.chown(like.uid, like.gid).catch(() => undefined);
  await file.chmod(like.mode & 0o7777);
  await file.sync();
}
