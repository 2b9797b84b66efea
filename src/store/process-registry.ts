import { randomBytes } from 'node:crypto';
import { lstat, rm } from 'node:fs/promises';
import { readFolder } from '../lib/fs.ts';
import { join } from 'node:path';
import { acquireLock, findLockHolder, isLocked } from '../lib/lock.ts';
import { withDiskErrors } from './disk-errors.ts';

/** A worker of kind `any` takes every run of the home, one of kind `own` only the runs that name it as their owner. */
type WorkerKind = 'any' | 'own';

/** What is known about a registered worker. */
interface RegisteredWorker {
  id: string;
  takes: WorkerKind;
  host: string;
  pid: number;
  /** ISO 8601 */
  since: string;
  /** When it last renewed its lock, ISO 8601. */
  seen: string;
}

/** A registered worker process, visible to all processes that share the home while it is alive. */
export interface WorkerRegistration {
  /** Unique, never reused. */
  id: string;
  leave(): Promise<void>;
}

/** A new id of a worker. */
export function makeWorkerId(kind: WorkerKind): string {
  return `${kind}-${randomBytes(8).toString('hex')}`;
}

/** Registers a worker by a lock file below `home`; the lock is released when the process dies. Throws DISK_FAILED. */
export async function registerWorker(
  home: string,
  kind: WorkerKind,
  id = makeWorkerId(kind),
): Promise<WorkerRegistration> {
  const folder = folderOf(home);
  return withDiskErrors(folder, async () => {
    const lock = await acquireLock(join(folder, id), { makeFolder: true });
    return { id, leave: () => lock.release() };
  });
}

/** Whether the worker process is alive. */
export async function isWorkerAlive(home: string, id: string): Promise<boolean> {
  return WORKER_ID.test(id) && isLocked(join(folderOf(home), id));
}

/** The number of live workers that take any run. */
export async function countWorkers(home: string): Promise<number> {
  const ids = (await workerIds(home)).filter((id) => id.startsWith('any-'));
  const alive = await Promise.all(ids.map((id) => isWorkerAlive(home, id)));
  return alive.filter(Boolean).length;
}

/** The live workers, the oldest first. */
export async function listWorkers(home: string): Promise<RegisteredWorker[]> {
  const found = await Promise.all((await workerIds(home)).map((id) => readWorker(home, id)));
  return found.filter((worker) => worker !== undefined).sort((a, b) => (a.since < b.since ? -1 : 1));
}

async function readWorker(home: string, id: string): Promise<RegisteredWorker | undefined> {
  const path = join(folderOf(home), id);
  const holder = await findLockHolder(path);
  if (holder === undefined || !(await isLocked(path))) return undefined;
  const facts = await lstat(path).catch(() => undefined);
  if (facts === undefined) return undefined;
  return {
    id,
    takes: id.startsWith('any-') ? 'any' : 'own',
    ...holder,
    since: facts.birthtime.toISOString(),
    seen: facts.mtime.toISOString(),
  };
}

/** Removes the registrations of dead workers and returns their ids. */
export async function removeDeadWorkers(home: string): Promise<string[]> {
  const dead: string[] = [];
  for (const id of await workerIds(home)) {
    if (await isWorkerAlive(home, id)) continue;
    await rm(join(folderOf(home), id), { force: true });
    dead.push(id);
  }
  return dead;
}

const WORKER_ID = /^(?:any|own)-[0-9a-f]{16}$/;

async function workerIds(home: string): Promise<string[]> {
  const names = await readFolder(folderOf(home));
  return names.filter((name) => WORKER_ID.test(name));
}

function folderOf(home: string): string {
  return join(home, 'workers');
}
