import { spawn } from 'node:child_process';
import { lstat, mkdtemp, readFile, readlink, rm } from 'node:fs/promises';
import { dirname, join } from 'node:path';
import { findOpenFilesError, HaloError, toHaloError } from '../../core/failure/errors.ts';
import { sleep } from '../../lib/async.ts';
import { ensurePrivateFolder, readIfExists, writeAtomic } from '../../lib/fs.ts';
import { withLock } from '../../lib/lock.ts';
import { setAsideRedisData } from '../damaged-data.ts';
import { findPingFailure, socketAddress, type PingFailure, type RedisAddress } from './redis-client.ts';

const PROGRAMS = ['redis-server', 'valkey-server'];
/** Some systems limit the path of a unix socket to 103 bytes. */
const MAX_SOCKET_PATH_BYTES = 100;
const START_MS = 60_000;

/** The paths of the server that halo runs below HALO_HOME. */
export interface EmbeddedRedisPaths {
  dir: string;
  lock: string;
  address: RedisAddress;
  socket: string;
}

/** The parameters for a launcher, for machines without a server program. */
interface RedisLaunch {
  /** Folders that must be writable for the server at the same paths. */
  folders: string[];
  /** The server's arguments. */
  args: string[];
}

/** Returns how the started server exited, as a sentence fragment or an error, or undefined while it runs. */
type ExitProbe = () => string | HaloError | undefined | Promise<string | undefined>;

/** Starts the server another way, such as in a container. The server must outlive this process. */
export type RedisLauncher = (launch: RedisLaunch) => Promise<ExitProbe>;

/** Returns the paths of the home's server and creates its private folders. */
export async function locateEmbeddedRedis(home: string): Promise<EmbeddedRedisPaths> {
  const dir = join(home, 'redis');
  await ensurePrivateFolder(dir);
  const near = join(dir, 'redis.sock');
  const socket = Buffer.byteLength(near) <= MAX_SOCKET_PATH_BYTES ? near : join(await shortFolder(dir), 'redis.sock');
  return { dir, lock: join(dir, 'lock'), address: socketAddress(socket), socket };
}

/**
 * Starts the server unless it runs. The caller holds the lock. If the server starts only without its data, the data is
 * set aside: the journals contain all of it. Returns false when this machine has no server program and no launcher is
 * given. Throws REDIS_UNAVAILABLE when the server does not start.
 */
export async function ensureEmbeddedRedis(paths: EmbeddedRedisPaths, launcher?: RedisLauncher): Promise<boolean> {
  const failure = await findPingFailure(paths.address);
  if (failure === undefined) return true;
  if (failure.kind === 'loading') return untilReady(paths, () => undefined);
  if (failure.kind === 'silent') throw startError(paths, failure.error.message);
  await stopUnreachable(paths);
  try {
    return await startServer(paths, launcher);
  } catch (error) {
    // A server that is still running is only slow to load its data.
    if ((await serverPid(paths)) !== undefined) throw error;
    // A disk that is full, or has no free inodes, says nothing about the data.
    await assertWritable(paths.dir);
    const putBack = await setAsideRedisData(paths.dir, toHaloError(error).message).catch((fault: unknown) => {
      throw cannotWrite(paths.dir, fault);
    });
    if (putBack === undefined) throw error;
    try {
      return await startServer(paths, launcher);
    } catch {
      await putBack();
      throw error;
    }
  }
}

/** Throws DISK_FAILED if nothing can be written to a folder. */
async function assertWritable(dir: string): Promise<void> {
  const probe = join(dir, 'write-probe');
  try {
    await writeAtomic(probe, `${'.'.repeat(4_096)}\n`, true);
    await rm(probe, { force: true });
  } catch (error) {
    throw cannotWrite(dir, error);
  }
}

async function startServer(paths: EmbeddedRedisPaths, launcher: RedisLauncher | undefined): Promise<boolean> {
  for (const program of PROGRAMS) if (await start(program, paths)) return true;
  if (launcher === undefined) return false;
  return untilReady(
    paths,
    await launcher({ folders: [...new Set([paths.dir, dirname(paths.socket)])], args: flags(paths) }),
  );
}

/** Waits up to ten seconds until a server that is shutting down has exited. */
export async function waitUntilStopped(paths: EmbeddedRedisPaths): Promise<void> {
  for (const deadline = performance.now() + 10_000; performance.now() < deadline; await sleep(2))
    if ((await serverPid(paths)) === undefined && (await findPingFailure(paths.address)) !== undefined) return;
}

async function start(program: string, paths: EmbeddedRedisPaths): Promise<boolean> {
  // Detached, so that it survives this process and Ctrl+C. An empty environment, so that it holds no API keys.
  const script = 'umask 077; exec env -i PATH="$PATH" "$0" "$@"';
  const child = spawn('/bin/sh', ['-c', script, program, ...flags(paths)], {
    cwd: paths.dir,
    detached: true,
    stdio: 'ignore',
  });
  let end: string | HaloError | undefined;
  child.on('error', (error) => (end = findOpenFilesError(error) ?? error.message));
  child.on('exit', (code, signal) => (end = code === 127 ? 'missing' : `it exited with ${signal ?? code}`));
  child.unref();
  return untilReady(paths, () => end);
}

function flags(paths: EmbeddedRedisPaths): string[] {
  const values = {
    port: '0',
    unixsocket: paths.socket,
    unixsocketperm: '700',
    dir: paths.dir,
    pidfile: join(paths.dir, 'redis.pid'),
    logfile: join(paths.dir, 'redis.log'),
    daemonize: 'no',
    appendonly: 'yes',
    appendfsync: 'everysec',
    save: '',
    'maxmemory-policy': 'noeviction',
  };
  return Object.entries(values).flatMap(([name, value]) => [`--${name}`, value]);
}

async function untilReady(paths: EmbeddedRedisPaths, ended: ExitProbe): Promise<boolean> {
  let failure: PingFailure | undefined;
  for (const deadline = performance.now() + START_MS; performance.now() < deadline; await sleep(10)) {
    failure = await findPingFailure(paths.address);
    if (failure === undefined) return true;
    const end = await ended();
    if (end === 'missing') return false;
    if (end instanceof HaloError) throw end;
    if (end !== undefined) throw startError(paths, `${end}${await lastLogLine(paths)}`);
  }
  throw startError(paths, failure?.error.message ?? 'no answer');
}

function startError(paths: EmbeddedRedisPaths, why: string): HaloError {
  // Redis: "Your current 'ulimit -n' of 22 is not enough for the server to start."
  const hint = why.includes('ulimit -n')
    ? 'Raise the limit of open files (ulimit -n).'
    : `Check ${join(paths.dir, 'redis.log')}, or set HALO_REDIS_URL to your own Redis.`;
  return new HaloError('REDIS_UNAVAILABLE', `The embedded Redis server in ${paths.dir} did not start: ${why}.`, {
    hint,
  });
}

/** Stops a server whose socket file was removed: it cannot be reached but would write the same files. */
async function stopUnreachable(paths: EmbeddedRedisPaths): Promise<void> {
  for (const deadline = performance.now() + 10_000; performance.now() < deadline; await sleep(50)) {
    const pid = await serverPid(paths);
    if (pid === undefined) return;
    process.kill(pid, 'SIGTERM');
  }
  throw startError(paths, 'an older server in that folder does not stop');
}

/** The process id of the running server, verified by its working folder; undefined when none runs. */
async function serverPid(paths: EmbeddedRedisPaths): Promise<number | undefined> {
  try {
    const pid = Number(await readFile(join(paths.dir, 'redis.pid'), 'utf8'));
    const dir = await lstat(paths.dir);
    const cwd = await lstat(await readlink(`/proc/${pid}/cwd`));
    const name = await readFile(`/proc/${pid}/comm`, 'utf8');
    return cwd.ino === dir.ino && cwd.dev === dir.dev && /redis|valkey/.test(name) ? pid : undefined;
  } catch {
    return undefined;
  }
}

async function lastLogLine(paths: EmbeddedRedisPaths): Promise<string> {
  const text = await readFile(join(paths.dir, 'redis.log'), 'utf8').catch(() => '');
  const line = text.trim().split('\n').at(-1) ?? '';
  return line === '' ? '' : ` (${line})`;
}

/**
 * A private folder with a short path, the same for all processes of this home. Its name is random and kept in the home: no
 * other user can make it first, and a folder that another user has is not used again.
 */
async function shortFolder(dir: string): Promise<string> {
  const kept = join(dir, 'socket-folder');
  const known = await readIfExists(kept);
  if (known !== undefined && (await isOwnFolder(known.trim()))) return known.trim();
  return withLock(join(dir, 'socket-folder.lock'), async () => {
    // Another process may have made one meanwhile.
    const newer = (await readIfExists(kept))?.trim();
    if (newer !== undefined && (await isOwnFolder(newer))) return newer;
    const short = await mkdtemp('/tmp/halo-redis-');
    await writeAtomic(kept, `${short}\n`);
    return short;
  });
}

async function isOwnFolder(path: string): Promise<boolean> {
  const found = await lstat(path).catch(() => undefined);
  return found?.isDirectory() === true && found.uid === process.getuid?.() && (found.mode & 0o077) === 0;
}

/** The error of a folder of the server that cannot be written to. Returns any other error of halo unchanged. */
export function cannotWrite(folder: string, error: unknown): HaloError {
  if (error instanceof HaloError) return error;
  const openFiles = findOpenFilesError(error);
  if (openFiles !== undefined) return openFiles;
  const { code, message } = error as NodeJS.ErrnoException;
  const isFull = code === 'ENOSPC' || code === 'EDQUOT';
  const why = isFull ? 'the disk has no space or no inodes left' : message;
  const hint = isFull ? 'Free disk space or remove files, then try again.' : 'Set HALO_HOME to a writable folder.';
  return new HaloError('DISK_FAILED', `Could not write to ${folder}: ${why}.`, { hint, cause: error });
}
