import { randomBytes } from 'node:crypto';
import { once } from 'node:events';
import { readFile } from 'node:fs/promises';
import { dirname, join } from 'node:path';
import type { Redis } from 'ioredis';
import { findOpenFilesError, HaloError } from '../../core/failure/errors.ts';
import { createFileOnce, pathExists } from '../../lib/fs.ts';
import { LockBusyError, withLock } from '../../lib/lock.ts';
import {
  cannotWrite,
  ensureEmbeddedRedis,
  locateEmbeddedRedis,
  waitUntilStopped,
  type EmbeddedRedisPaths,
  type RedisLauncher,
} from './embedded-redis.ts';
import { connectRedisClient, disconnectClient, parseRedisUrl, type RedisAddress } from './redis-client.ts';

interface RedisConfig {
  /** HALO_HOME, absolute. */
  home: string;
  /** HALO_REDIS_URL, when set. */
  redisUrl: string | undefined;
}

/** A connection to a Redis server; an embedded server runs as long as a link is open. */
export interface RedisLink {
  readonly address: RedisAddress;
  readonly kind: 'external' | 'embedded';
  /** Prefix of all keys of this HALO_HOME, so that several homes can share one server. */
  readonly prefix: string;
  /** For single commands. Queues and consumers open their own connections. */
  readonly client: Redis;
  /** Describes the server for users, without secrets. */
  describe(): string;
  /** Disconnects. The last process to disconnect from an embedded server stops it. Close queues and consumers first. */
  close(): Promise<void>;
}

/** Name of the connection that each halo process keeps to an embedded server, to count its users. */
const CONNECTION_NAME = 'halo-user';

/**
 * Connects to the configured Redis, otherwise to halo's embedded server, which is started when necessary; `launcher` is
 * the last resort. Throws REDIS_UNAVAILABLE within seconds.
 */
export async function connectRedis(host: RedisConfig, launcher?: RedisLauncher): Promise<RedisLink> {
  const prefix = `halo-${await readHomeId(host.home)}`;
  if (host.redisUrl !== undefined) return externalLink(parseRedisUrl(host.redisUrl), prefix);
  const paths = await locateEmbeddedRedis(host.home).catch((error: unknown) => {
    throw cannotWrite(host.home, error);
  });
  const ensure = () => ensureEmbeddedRedis(paths, launcher);
  const client = await locked(paths, async () =>
    (await ensure()) ? connectRedisClient(paths.address, { connectionName: CONNECTION_NAME }) : undefined,
  );
  if (client !== undefined) return embeddedLink(paths, { client, ensure, prefix });
  throw new HaloError('REDIS_UNAVAILABLE', 'No Redis is configured, and no Redis program is installed.', {
    hint: 'Install redis-server or valkey-server, or start Docker so that halo can run Redis in a container, or set HALO_REDIS_URL.',
  });
}

async function externalLink(address: RedisAddress, prefix: string): Promise<RedisLink> {
  const client = await connectRedisClient(address);
  return {
    address,
    kind: 'external',
    prefix,
    client,
    describe: () => address.name,
    close: () => {
      client.disconnect();
      return Promise.resolve();
    },
  };
}

interface Embedded {
  client: Redis;
  ensure: () => Promise<boolean>;
  prefix: string;
}

function embeddedLink(paths: EmbeddedRedisPaths, { client, ensure, prefix }: Embedded): RedisLink {
  let closed: Promise<void> | undefined;
  // When the server dies, one of the connected processes restarts it.
  client.on('close', () => {
    if (closed === undefined) void locked(paths, ensure).catch(() => undefined);
  });
  const disconnect = () =>
    locked(paths, async () => {
      if (client.status === 'ready' && (await countUsers(client)) <= 1) {
        // The server does not reply to SHUTDOWN but closes the connection.
        const gone = once(client, 'end', { signal: AbortSignal.timeout(10_000) });
        client.options.retryStrategy = () => null;
        client.shutdown().catch(() => undefined);
        await gone.catch(() => undefined);
        await waitUntilStopped(paths);
      }
      disconnectClient(client);
    });
  return {
    address: paths.address,
    kind: 'embedded',
    prefix,
    client,
    describe: () => `${paths.address.name}, started by halo`,
    close: () => (closed ??= disconnect()),
  };
}

async function countUsers(client: Redis): Promise<number> {
  const list = (await client.client('LIST')) as string;
  return list.split('\n').filter((line) => line.includes(` name=${CONNECTION_NAME} `)).length;
}

async function locked<T>(paths: EmbeddedRedisPaths, work: () => Promise<T>): Promise<T> {
  return withLock(paths.lock, work, { waitMs: 70_000 }).catch((error: unknown) => {
    if (!(error instanceof LockBusyError)) throw error;
    const hint = `Check what process ${error.owner} is doing, or set HALO_REDIS_URL to your own Redis.`;
    throw new HaloError('REDIS_UNAVAILABLE', `Another process is starting Redis in ${paths.dir}: ${error.message}.`, {
      hint,
      cause: error,
    });
  });
}

/** The id of a HALO_HOME. */
export const HOME_ID = /^[0-9a-f]{12}$/;
/** A folder of a HALO_HOME with what was restored and has not its name yet; the id gets it last. */
export const RESTORED = '.restored';

/**
 * The id of a HALO_HOME, created on first use. It is the same for all processes that share the folder, whatever its path.
 * Throws DISK_FAILED, also for a damaged id file: containers labelled with the old id would not be found under a new one.
 */
export async function readHomeId(home: string): Promise<string> {
  const file = join(home, 'id');
  const id = await readOrCreate(file).catch((error: unknown) => {
    throw unwritableHome(home, error);
  });
  if (HOME_ID.test(id)) return id;
  throw new HaloError('DISK_FAILED', `The id file ${file} of this HALO_HOME is damaged.`, {
    hint: 'Restore the file from a backup. Or stop halo, remove the file, and remove the containers and volumes with the old id (label dev.halo.home) yourself.',
  });
}

async function readOrCreate(file: string): Promise<string> {
  const read = async () => (await readFile(file, 'latin1')).trim();
  try {
    return await read();
  } catch (error) {
    if ((error as NodeJS.ErrnoException).code !== 'ENOENT') throw error;
  }
  if (await pathExists(join(dirname(file), RESTORED))) throw halfRestored(dirname(file));
  await createFileOnce(file, `${randomBytes(6).toString('hex')}\n`);
  return read();
}

function halfRestored(home: string): HaloError {
  return new HaloError('CONFIG_INVALID', `A restore into ${home} was interrupted.`, {
    hint: 'Run `halo restore` again: it finishes what was verified.',
  });
}

function unwritableHome(home: string, error: unknown): HaloError {
  if (error instanceof HaloError) return error;
  const openFiles = findOpenFilesError(error);
  if (openFiles !== undefined) return openFiles;
  const { message } = error as Error;
  return new HaloError('DISK_FAILED', `Could not write to ${home}: ${message}.`, {
    hint: 'Set HALO_HOME to a writable folder.',
    cause: error,
  });
}
