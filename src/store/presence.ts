import { randomBytes } from 'node:crypto';
import { mkdir, readdir, rm } from 'node:fs/promises';
import { join } from 'node:path';
import { holdLock, isHeld } from '../lib/lock.ts';
import { onDisk } from './disk-errors.ts';

/** `any` works on every run of the home, `own` on the runs that name it as their owner. */
export type WorkerKind = 'any' | 'own';

/** A process that works on runs, known to all who share the home for as long as it lives. */
export interface Presence {
  /** Never given twice. */
  id: string;
  leave(): Promise<void>;
}

/** Makes a worker known by a lock below `home`, which its death frees. Throws DISK_FAILED. */
export async function announceWorker(home: string, kind: WorkerKind): Promise<Presence> {
  const folder = folderOf(home);
  return onDisk(folder, async () => {
    await mkdir(folder, { recursive: true, mode: 0o700 });
    const id = `${kind}-${randomBytes(8).toString('hex')}`;
    const lock = await holdLock(join(folder, id));
    return { id, leave: () => lock.release() };
  });
}

/** Whether that worker lives. */
export async function isPresent(home: string, id: string): Promise<boolean> {
  return WORKER_ID.test(id) && isHeld(join(folderOf(home), id));
}

/** How many workers live that take any run. */
export async function countWorkers(home: string): Promise<number> {
  const ids = (await workerIds(home)).filter((id) => id.startsWith('any-'));
  const present = await Promise.all(ids.map((id) => isPresent(home, id)));
  return present.filter(Boolean).length;
}

/** Forgets the workers that died without leaving; answers with their ids. */
export async function forgetDead(home: string): Promise<string[]> {
  const dead: string[] = [];
  for (const id of await workerIds(home)) {
    if (await isPresent(home, id)) continue;
    await rm(join(folderOf(home), id), { force: true });
    dead.push(id);
  }
  return dead;
}

const WORKER_ID = /^(?:any|own)-[0-9a-f]{16}$/;

async function workerIds(home: string): Promise<string[]> {
  const names = await readdir(folderOf(home)).catch((error: NodeJS.ErrnoException) => {
    if (error.code === 'ENOENT') return [];
    throw error;
  });
  return names.filter((name) => WORKER_ID.test(name));
}

function folderOf(home: string): string {
  return join(home, 'workers');
}
