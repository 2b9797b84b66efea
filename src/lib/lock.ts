import { randomBytes } from 'node:crypto';
import { lstat, lutimes, readlink, rename, rm, symlink, unlink, writeFile } from 'node:fs/promises';
import { createServer, connect } from 'node:net';
import { hostname } from 'node:os';
import { dirname, join } from 'node:path';
import { doubledDelay, sleep } from './async.ts';
import { createFolders, readFolder } from './fs.ts';
import { isProcessAlive, isThisBoot, processStartTime } from './process-identity.ts';

export interface LockOptions {
  /** Maximum time to wait for the lock, in ms. */
  waitMs?: number;
  /** A lock of another host that was not renewed for this long, in ms, is treated as abandoned. */
  staleMs?: number;
  /** Creates the folder of the lock with mode 0700, also when it is removed while this process waits. */
  makeFolder?: boolean;
  /** Its holder listens at a socket beside it, so that another container of this machine need not wait for a dead one. */
  isProvable?: boolean;
}

const STALE_MS = 60_000;

/** The lock was not released in time. `owner` is its holder as `host:pid`. */
export class LockBusyError extends Error {
  readonly path: string;
  readonly owner: string;

  constructor(path: string, owner: string) {
    super(`${path} is locked by ${owner}`);
    this.name = 'LockBusyError';
    this.path = path;
    this.owner = owner;
  }
}

/**
 * Runs `work` while holding an exclusive lock on the path, across processes and within this one. The lock is a symbolic
 * link whose target names its owner: it is created atomically with its content, and it is free as soon as the owner is
 * dead. Libraries such as proper-lockfile decide by modification time, which is less reliable than process id and start
 * time. Throws LockBusyError, and what `work` throws.
 */
export async function withLock<T>(path: string, work: () => Promise<T>, options: LockOptions = {}): Promise<T> {
  const lock = await acquireLock(path, options);
  try {
    return await work();
  } finally {
    await lock.release();
  }
}

/** A lock that is held until it is released or this process ends. */
export interface AcquiredLock {
  release(): Promise<void>;
}

/** Acquires a lock that the caller must release. Throws LockBusyError. */
export async function acquireLock(path: string, options: LockOptions = {}): Promise<AcquiredLock> {
  const staleMs = options.staleMs ?? STALE_MS;
  const deadline = performance.now() + (options.waitMs ?? 30_000);
  const { makeFolder = false, isProvable = false } = options;
  if (makeFolder) await createFolders(dirname(path), 0o700);
  const proof = isProvable ? await openProof(path) : undefined;
  const me = await waitForLock(path, { deadline, staleMs, makeFolder, proof: proof?.name ?? '' }).catch(
    (error: unknown) => {
      proof?.close();
      throw error;
    },
  );
  const renewal = setInterval(() => void renew(path), staleMs / 4).unref();
  return {
    async release() {
      clearInterval(renewal);
      if ((await ownerOf(path)) === me) await unlink(path).catch(unlessGone);
      proof?.close();
    },
  };
}

function unlessGone(error: NodeJS.ErrnoException): void {
  if (error.code !== 'ENOENT') throw error;
}

/** Whether a live process holds the lock, as far as this host can determine. */
export async function isLocked(path: string): Promise<boolean> {
  const owner = await ownerOf(path);
  return owner !== undefined && !(await isDead(path, owner, STALE_MS));
}

/** The process that holds or held the lock; undefined without a lock. */
export async function findLockHolder(path: string): Promise<{ host: string; pid: number } | undefined> {
  const [host = '', pid] = (await ownerOf(path))?.split(':') ?? [];
  return pid === undefined ? undefined : { host, pid: Number(pid) };
}

/** The names of the locks in a folder; empty if it is missing. Removes what killed processes left of their renewals. */
export async function listLocks(dir: string): Promise<string[]> {
  const names = await readFolder(dir);
  for (const name of names) {
    if (!CLOCK.test(name)) continue;
    const path = join(dir, name);
    const madeMs = (await lstat(path).catch(() => undefined))?.mtimeMs ?? NaN;
    if (Date.now() - madeMs > STALE_MS) await rm(path, { force: true });
  }
  return names.filter((name) => !CLOCK.test(name));
}

async function waitForLock(
  path: string,
  { deadline, staleMs, makeFolder, proof }: { deadline: number; staleMs: number; makeFolder: boolean; proof: string },
): Promise<string> {
  const me = proof === '' ? describeMe() : `${describeMe()}:${proof}`;
  for (let failures = 0; ; failures++) {
    if (makeFolder) await createFolders(dirname(path), 0o700);
    if (await tryLink(me, path, makeFolder)) return me;
    const owner = await ownerOf(path);
    if (owner === undefined) continue;
    if (await isDead(path, owner, staleMs)) await removeDeadLock(path, staleMs);
    else if (performance.now() > deadline) throw new LockBusyError(path, owner.split(':').slice(0, 2).join(':'));
    else await sleep(doubledDelay(failures, 2, 50) * (0.5 + Math.random()));
  }
}

/** Removes the lock of a dead owner. A lock of its own prevents two processes from removing a live lock. */
async function removeDeadLock(path: string, staleMs: number): Promise<void> {
  const cleanupLock = `${path}.clear`;
  const me = describeMe();
  if (!(await tryLink(me, cleanupLock))) {
    const cleaner = await ownerOf(cleanupLock);
    if (cleaner !== undefined && (await isDead(cleanupLock, cleaner, staleMs))) await removeAtomically(cleanupLock);
    await sleep(5);
    return;
  }
  try {
    const owner = await ownerOf(path);
    if (owner !== undefined && (await isDead(path, owner, staleMs))) {
      await rm(path, { force: true });
      // From here on, the path may be the lock of another process.
      const proof = proofOf(path, owner);
      if (proof !== undefined) await rm(proof, { force: true });
    }
  } finally {
    if ((await ownerOf(cleanupLock)) === me) await rm(cleanupLock, { force: true });
  }
}

async function removeAtomically(path: string): Promise<void> {
  const aside = `${path}.${randomBytes(4).toString('hex')}`;
  try {
    await rename(path, aside);
    await unlink(aside);
  } catch {
    // Another process removed it first.
  }
}

/** `mayBeGone`: a missing folder is not an error. */
async function tryLink(owner: string, path: string, mayBeGone = false): Promise<boolean> {
  try {
    await symlink(owner, path);
    return true;
  } catch (error) {
    const { code } = error as NodeJS.ErrnoException;
    if (code === 'EEXIST' || (mayBeGone && code === 'ENOENT')) return false;
    throw error;
  }
}

async function ownerOf(path: string): Promise<string | undefined> {
  try {
    return await readlink(path);
  } catch (error) {
    const { code } = error as NodeJS.ErrnoException;
    if (code === 'ENOENT') return undefined;
    // Not a link.
    if (code === 'EINVAL') return NO_PROCESS;
    throw error;
  }
}

/** The owner of a file in the place of a lock: some backups replace links with files. */
const NO_PROCESS = '';

async function isDead(path: string, owner: string, staleMs: number): Promise<boolean> {
  if (owner === NO_PROCESS) return true;
  const [host, pid, start] = owner.split(':');
  if (host === HOST) return !isProcessAlive(Number(pid), start ?? '');
  const proof = proofOf(path, owner);
  if (proof !== undefined && isThisBoot(start ?? '') && (await isSilent(proof))) return true;
  try {
    const now = await fileSystemTime(path);
    const { mtimeMs } = await lstat(path);
    // The clock was set back. A live owner renews the lock; a dead owner's lock becomes stale from now on.
    if (mtimeMs > now) await lutimes(path, now / 1000, now / 1000);
    return now - mtimeMs > staleMs;
  } catch {
    return false;
  }
}

interface Proof {
  name: string;
  close(): void;
}

/** Longer names of sockets are cut off. */
const MAX_SOCKET_BYTES = 100;

/** Listens beside a lock as long as this process lives; undefined where it cannot: then the age of the lock decides. */
async function openProof(path: string): Promise<Proof | undefined> {
  const name = `${randomBytes(4).toString('hex')}.sock`;
  const place = `${path}.${name}`;
  if (Buffer.byteLength(place) > MAX_SOCKET_BYTES) return undefined;
  const server = createServer((socket) => socket.destroy()).unref();
  return new Promise((resolve) => {
    server.once('error', () => resolve(undefined));
    // Closing removes its file.
    server.listen(place, () => resolve({ name, close: () => void server.close() }));
  });
}

/** The socket of a lock's owner; undefined without one. */
function proofOf(path: string, owner: string): string | undefined {
  const name = owner.split(':')[4];
  return name === undefined || !/^[0-9a-f]{8}\.sock$/.test(name) ? undefined : `${path}.${name}`;
}

/** Whether no process listens at a socket of this machine. */
async function isSilent(place: string): Promise<boolean> {
  return new Promise((resolve) => {
    const socket = connect(place, () => {
      socket.destroy();
      resolve(false);
    });
    socket.once('error', ({ code }: NodeJS.ErrnoException) => resolve(code === 'ECONNREFUSED' || code === 'ENOENT'));
  });
}

async function renew(path: string): Promise<void> {
  const seconds = (await fileSystemTime(path)) / 1000;
  await lutimes(path, seconds, seconds).catch(() => undefined);
}

/** Ends the name of a file that only exists while the time is read. */
const CLOCK = /\.[0-9a-f]{8}\.now$/;

/** The current time of the lock's file system, in ms: the clocks of hosts that share it may differ. */
async function fileSystemTime(path: string): Promise<number> {
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
  return [HOST, process.pid, processStartTime(process.pid), randomBytes(6).toString('hex')].join(':');
}
