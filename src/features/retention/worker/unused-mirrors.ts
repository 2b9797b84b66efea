import { lstat, rename, rm, stat } from 'node:fs/promises';
import { join } from 'node:path';
import { mirrorPath, withMirrorLock } from '../../../git/mirror/mirror.ts';
import { readFolder } from '../../../lib/fs.ts';
import { LockBusyError } from '../../../lib/lock.ts';
import type { HaloError } from '../../../core/failure/errors.ts';
import { measureFolder, REMOVED, removeLeftovers } from '../../../store/run/remove-run.ts';

/** A mirror that no run of this home uses. */
export interface UnusedMirror {
  name: string;
  bytes: number;
}

/** A mirror that could not be removed. */
export interface FailedMirror {
  mirror: string;
  error: HaloError;
}

/** A mirror is created before its run: one that was used more recently may belong to a submit. */
const MIN_IDLE_MS = 86_400_000;
const NAME = /^[a-z0-9][a-z0-9-]*$/;

/** Mirrors that none of `used` names and that no process used for a day. */
export async function findUnusedMirrors(home: string, used: ReadonlySet<string>, now: Date): Promise<UnusedMirror[]> {
  const unused: UnusedMirror[] = [];
  for (const name of await readFolder(join(home, 'repos'))) {
    const dir = join(home, 'repos', name);
    if (used.has(name) || !NAME.test(name) || !(await lstat(dir)).isDirectory() || !(await isIdle(dir, now))) continue;
    unused.push({ name, bytes: await measureFolder(dir) });
  }
  return unused;
}

/** Removes a mirror with everything next to it. Returns false if a process has used it in the meantime. */
export async function removeMirror(home: string, name: string, now: Date): Promise<boolean> {
  const dir = join(home, 'repos', name);
  const aside = join(home, 'repos', `${REMOVED}${name}`);
  await rm(aside, { recursive: true, force: true });
  const isRemoved = await withMirrorLock(
    mirrorPath(home, name),
    async () => {
      if (!(await isIdle(dir, now))) return false;
      await rename(dir, aside);
      return true;
    },
    { waitMs: 0 },
  ).catch((error: unknown) => {
    if (error instanceof LockBusyError) return false;
    throw error;
  });
  if (!isRemoved) return false;
  // A process that came in between has either used it, or already created another one.
  if (!(await isIdle(aside, now))) {
    const isBack = await rename(aside, dir).then(
      () => true,
      () => false,
    );
    if (isBack) return false;
  }
  await rm(aside, { recursive: true, force: true });
  return true;
}

/** Finishes removals whose process died. Returns the mirrors that it cannot remove. */
export async function finishMirrorRemovals(home: string): Promise<FailedMirror[]> {
  const failed = await removeLeftovers(join(home, 'repos'));
  return failed.map(({ name, error }) => ({ mirror: name, error }));
}

/** Whether none of the folders that every use changes has changed for a day. A submit begins with the folder alone. */
async function isIdle(dir: string, now: Date): Promise<boolean> {
  const mirror = join(dir, 'mirror.git');
  const places = [dir, mirror, join(mirror, 'refs', 'halo', 'base'), join(dir, 'attempts'), join(dir, 'views')];
  const times = await Promise.all(places.map((path) => stat(path).catch(() => undefined)));
  return times.every((found) => found === undefined || now.getTime() - found.mtimeMs >= MIN_IDLE_MS);
}
