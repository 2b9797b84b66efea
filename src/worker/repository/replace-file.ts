import { MAX_PRD_BYTES } from '../../prd/decode-prd.ts';
import { readRegularFile, syncPath } from '../../lib/fs.ts';
import { failpoint } from '../../lib/failpoint.ts';
import { basename, dirname, join } from 'node:path';
import { open, readdir, realpath, rename, rm, stat, type FileHandle } from 'node:fs/promises';
import { randomBytes } from 'node:crypto';

const MAX_TRIES = 3;

/** Returns the new content of a file; undefined leaves it unchanged. */
type Change = (bytes: Uint8Array) => Uint8Array | undefined;

/**
 * Replaces the content of a user's file atomically. Keeps links, mode and owner. If the file changes in the meantime, calls
 * `change` again instead of overwriting it. Rethrows errors of the file system and of `change`; then the file is unchanged.
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
    if (tries === MAX_TRIES) throw new Error(`${target} changes all the time`);
  }
}

/** False if the file changed in the meantime. */
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
  await removeStaleTemps(target);
  const fresh = await open(temp, 'wx', 0o600);
  // oxlint-disable-next-line typescript/no-misused-promises -- `finally` waits for the promise
  await fill(fresh, changed, before).finally(() => fresh.close());
  const now = await stat(target);
  if (now.mtimeMs !== before.mtimeMs || now.ino !== before.ino || now.size !== before.size) return false;
  await failpoint('write-back.written');
  await rename(temp, target);
  await syncPath(dirname(target));
  return true;
}

/** Removes temporary files of processes that died before the rename. */
async function removeStaleTemps(target: string): Promise<void> {
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
  // Only root may change the owner; for others, failure is expected.
  await file.chown(like.uid, like.gid).catch(() => undefined);
  await file.chmod(like.mode & 0o7777);
  await file.sync();
}
