import { spawn } from 'node:child_process';
import { createHash } from 'node:crypto';
import { lstat, mkdir, readFile, readlink } from 'node:fs/promises';
import { dirname, join } from 'node:path';
import { HaloError, toHaloError } from '../core/failure/errors.ts';
import { makePrivateFolder } from '../lib/private-folder.ts';
import { sleep } from '../lib/sleep.ts';
import { setDataAside } from './damaged-data.ts';
import { socketAddress, type RedisAddress } from './redis/redis-address.ts';
import { tryPing } from './redis-client.ts';

const PROGRAMS = ['redis-server', 'valkey-server'];
/** The longest path that a unix socket may have is 103 bytes on some systems. */
const LONGEST_SOCKET = 100;
const START_MS = 60_000;

/** The server that halo runs for itself, below HALO_HOME. */
export interface EmbeddedPlace {
  dir: string;
  lock: string;
  address: RedisAddress;
  socket: string;
}

/** How to run the server where this machine has no program for it. */
export interface ServerLaunch {
  /** Folders that the server must be able to write, at the same paths. */
  folders: string[];
  /** The server's arguments. */
  args: string[];
}

/** How a server that was started ended, in words; undefined while it runs. */
export type Ended = () => string | undefined | Promise<string | undefined>;

/** Starts the server another way, e.g. in a container; it must go on after this process. */
export type Launcher = (launch: ServerLaunch) => Promise<Ended>;

/** Where the server of this home is; makes its private folders. */
export async function embeddedPlace(home: string): Promise<EmbeddedPlace> {
  const dir = join(home, 'redis');
  await makePrivateFolder(dir);
  const near = join(dir, 'redis.sock');
  const socket = Buffer.byteLength(near) <= LONGEST_SOCKET ? near : join(await shortFolder(dir), 'redis.sock');
  return { dir, lock: join(dir, 'lock'), address: socketAddress(socket), socket };
}

/**
 * Starts the server unless it runs. The caller holds the lock.
 * A server that does not start with its data, but without, goes on without: the journals have all that is in it.
 * Returns false when this machine has no server program and there is no other way to start it.
 * Throws REDIS_UNAVAILABLE when it does not come up.
 */
export async function ensureServer(place: EmbeddedPlace, launcher?: Launcher): Promise<boolean> {
  const failure = await tryPing(place.address);
  if (failure === undefined) return true;
  if (failure.message.includes('LOADING')) return untilReady(place, () => undefined);
  if (failure.message.startsWith('no answer')) throw notUp(place, failure.message);
  await stopLost(place);
  try {
    return await startAnyhow(place, launcher);
  } catch (error) {
    // A server that only takes long to read its data has not refused them.
    if ((await serverPid(place)) !== undefined) throw error;
    const putBack = await setDataAside(place.dir, toHaloError(error).message);
    if (putBack === undefined) throw error;
    try {
      return await startAnyhow(place, launcher);
    } catch {
      await putBack();
      throw error;
    }
  }
}

async function startAnyhow(place: EmbeddedPlace, launcher: Launcher | undefined): Promise<boolean> {
  for (const program of PROGRAMS) if (await start(program, place)) return true;
  if (launcher === undefined) return false;
  return untilReady(
    place,
    await launcher({ folders: [...new Set([place.dir, dirname(place.socket)])], args: flags(place) }),
  );
}

/** Waits until the server, told to shut down, is gone. */
export async function untilStopped(place: EmbeddedPlace): Promise<void> {
  for (const deadline = performance.now() + 10_000; performance.now() < deadline; await sleep(20))
    if ((await serverPid(place)) === undefined && (await tryPing(place.address)) !== undefined) return;
}

async function start(program: string, place: EmbeddedPlace): Promise<boolean> {
  // A session of its own: it outlives this process and ^C. An empty environment: no key lives on in it.
  const script = 'umask 077; exec env -i PATH="$PATH" "$0" "$@"';
  const child = spawn('/bin/sh', ['-c', script, program, ...flags(place)], {
    cwd: place.dir,
    detached: true,
    stdio: 'ignore',
  });
  let end: string | undefined;
  child.on('error', (error) => (end = error.message));
  child.on('exit', (code, signal) => (end = code === 127 ? 'missing' : `it ended with ${signal ?? code}`));
  child.unref();
  return untilReady(place, () => end);
}

function flags(place: EmbeddedPlace): string[] {
  const values = {
    port: '0',
    unixsocket: place.socket,
    unixsocketperm: '700',
    dir: place.dir,
    pidfile: join(place.dir, 'redis.pid'),
    logfile: join(place.dir, 'redis.log'),
    daemonize: 'no',
    appendonly: 'yes',
    appendfsync: 'everysec',
    save: '',
    'maxmemory-policy': 'noeviction',
  };
  return Object.entries(values).flatMap(([name, value]) => [`--${name}`, value]);
}

async function untilReady(place: EmbeddedPlace, ended: Ended): Promise<boolean> {
  let failure: Error | undefined;
  for (const deadline = performance.now() + START_MS; performance.now() < deadline; await sleep(10)) {
    failure = await tryPing(place.address);
    if (failure === undefined) return true;
    const end = await ended();
    if (end === 'missing') return false;
    if (end !== undefined) throw notUp(place, `${end}${await lastLogLine(place)}`);
  }
  throw notUp(place, failure?.message ?? 'no answer');
}

function notUp(place: EmbeddedPlace, why: string): HaloError {
  return new HaloError('REDIS_UNAVAILABLE', `The Redis server that halo starts in ${place.dir} is not up: ${why}.`, {
    hint: `Look into ${join(place.dir, 'redis.log')}, or set HALO_REDIS_URL to a Redis of your own.`,
  });
}

/** A server without its socket (somebody removed the file) cannot be reached, but would write the same files. */
async function stopLost(place: EmbeddedPlace): Promise<void> {
  for (const deadline = performance.now() + 10_000; performance.now() < deadline; await sleep(50)) {
    const pid = await serverPid(place);
    if (pid === undefined) return;
    process.kill(pid, 'SIGTERM');
  }
  throw notUp(place, 'an older server there does not stop');
}

/** The running server's process, known by the folder it works in; undefined when there is none. */
async function serverPid(place: EmbeddedPlace): Promise<number | undefined> {
  try {
    const pid = Number(await readFile(join(place.dir, 'redis.pid'), 'utf8'));
    const dir = await lstat(place.dir);
    const cwd = await lstat(await readlink(`/proc/${pid}/cwd`));
    const name = await readFile(`/proc/${pid}/comm`, 'utf8');
    return cwd.ino === dir.ino && cwd.dev === dir.dev && /redis|valkey/.test(name) ? pid : undefined;
  } catch {
    return undefined;
  }
}

async function lastLogLine(place: EmbeddedPlace): Promise<string> {
  const text = await readFile(join(place.dir, 'redis.log'), 'utf8').catch(() => '');
  const line = text.trim().split('\n').at(-1) ?? '';
  return line === '' ? '' : ` (${line})`;
}

/** A private folder with a short path, the same for all processes of this home. */
async function shortFolder(dir: string): Promise<string> {
  const short = join('/tmp', `halo-${createHash('sha256').update(dir).digest('hex').slice(0, 16)}`);
  await mkdir(short, { recursive: true, mode: 0o700 });
  const found = await lstat(short);
  if (found.isDirectory() && found.uid === process.getuid?.() && (found.mode & 0o077) === 0) return short;
  throw new HaloError('REDIS_UNAVAILABLE', `${short}, the folder for Redis' socket, belongs to somebody else.`, {
    hint: 'Set HALO_HOME to a shorter path, or HALO_REDIS_URL to a Redis of your own.',
  });
}
