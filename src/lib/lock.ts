import { randomBytes } from 'node:crypto';
import { lstat, lutimes, readlink, rename, rm, symlink, unlink, writeFile } from 'node:fs/promises';
import { hostname } from 'node:os';
import { isAlive, startOf } from './process-identity.ts';
import { sleep } from './sleep.ts';

export interface LockOptions {
  /** Most time to wait for the lock, in ms. */
  waitMs?: number;
  /** A lock held on another host that was not renewed for this long, in ms, is given up for dead. */
  staleMs?: number;
}

const STALE_MS = 60_000;

/** Waiting for a lock took too long. `owner` is its holder as `host:pid`. */
export class LockBusyError extends Error {
  readonly owner: string;

  constructor(path: string, owner: string) {
    super(`${path} is locked by ${owner}`);
    this.name = 'LockBusyError';
    this.owner = owner;
  }
}

/**
 * Runs `work` while no other process (nor caller in this one) that names the same path does.
 * The lock is a symbolic link whose target names its owner: made with its content in one step, and
 * free again the moment its owner is dead. Throws LockBusyError, and what `work` throws.
 */
export async function withLock<T>(path: string, work: () => Promise<T>, options: LockOptions = {}): Promise<T> {
  const lock = await holdLock(path, options);
  try {
    return await work();
  } finally {
    await lock.release();
  }
}

/** A lock that is held until it is released, or until this process is dead. */
export interface HeldLock {
  release(): Promise<void>;
}

/** Takes the same kind of lock, to be held beyond one piece of work. Throws LockBusyError. */
export async function holdLock(path: string, options: LockOptions = {}): Promise<HeldLock> {
  const staleMs = options.staleMs ?? STALE_MS;
  const me = await takeLock(path, performance.now() + (options.waitMs ?? 30_000), staleMs);
  const renewal = setInterval(() => void renew(path), staleMs / 4).unref();
  return {
    async release() {
      clearInterval(renewal);
      if ((await ownerOf(path)) === me) await rm(path, { force: true });
    },
  };
}

/** Whether a process that lives holds the lock, as far as can be told from here. */
export async function isHeld(path: string): Promise<boolean> {
  const owner = await ownerOf(path);
  return owner !== undefined && !(await isDead(path, owner, STALE_MS));
}

async function takeLock(path: string, deadline: number, staleMs: number): Promise<string> {
  const me = describeMe();
  for (let pause = 2; ; pause = Math.min(pause * 2, 50)) {
    if (await tryLink(me, path)) return me;
    const owner = await ownerOf(path);
    if (owner === undefined) continue;
    if (await isDead(path, owner, staleMs)) await clearDead(path, staleMs);
    else if (performance.now() > deadline) throw new LockBusyError(path, owner.split(':').slice(0, 2).join(':'));
    else await sleep(pause * (0.5 + Math.random()));
  }
}

/** Two cleaners could remove a live lock between them, so cleaning has a short lock of its own. */
async function clearDead(path: string, staleMs: number): Promise<void> {
  const broom = `${path}.clear`;
  const me = describeMe();
  if (!(await tryLink(me, broom))) {
    const cleaner = await ownerOf(broom);
    if (cleaner !== undefined && (await isDead(broom, cleaner, staleMs))) await setAside(broom);
    await sleep(5);
    return;
  }
  try {
    const owner = await ownerOf(path);
    if (owner !== undefined && (await isDead(path, owner, staleMs))) await rm(path, { force: true });
  } finally {
    if ((await ownerOf(broom)) === me) await rm(broom, { force: true });
  }
}

async function setAside(path: string): Promise<void> {
  const aside = `${path}.${randomBytes(4).toString('hex')}`;
  try {
    await rename(path, aside);
    await unlink(aside);
  } catch {
    // Another process was quicker.
  }
}

async function tryLink(owner: string, path: string): Promise<boolean> {
  try {
    await symlink(owner, path);
    return true;
  } catch (error) {
    if ((error as NodeJS.ErrnoException).code === 'EEXIST') return false;
    throw error;
  }
}

async function ownerOf(path: string): Promise<string | undefined> {
  try {
    return await readlink(path);
  } catch (error) {
    if ((error as NodeJS.ErrnoException).code === 'ENOENT') return undefined;
    throw error;
  }
}

async function isDead(path: string, owner: string, staleMs: number): Promise<boolean> {
  const [host, pid, start] = owner.split(':');
  if (host === HOST) return !isAlive(Number(pid), start ?? '');
  try {
    const now = await timeBeside(path);
    const { mtimeMs } = await lstat(path);
    // The clock was set back. A holder that lives renews the lock; of a dead one it becomes stale from now on.
    if (mtimeMs > now) await lutimes(path, now / 1000, now / 1000);
    return now - mtimeMs > staleMs;
  } catch {
    return false;
  }
}

async function renew(path: string): Promise<void> {
  const seconds = (await timeBeside(path)) / 1000;
  await lutimes(path, seconds, seconds).catch(() => undefined);
}

/** What the file system of the lock takes for now, in ms: hosts that share it may differ. */
async function timeBeside(path: string): Promise<number> {
  const probe = `${path}.${randomBytes(4).toString('hex')}.now`;
  try {
    await writeFile(probe, '');
    return (await lstat(probe)).mtimeMs;
  } catch {
    return Date.now();
  } finally {
    await rm(probe, { force: true }).catch(() => undefined);
  }
}

const HOST = hostname().replaceAll(':', '-');

function describeMe(): string {
  return [HOST, process.pid, startOf(process.pid), randomBytes(6).toString('hex')].join(':');
}
