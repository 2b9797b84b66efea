import { once } from 'node:events';
import type { Redis } from 'ioredis';
import { HaloError } from '../../core/failure/errors.ts';
import { LockBusyError, withLock } from '../../lib/lock.ts';
import { readHomeId } from './home-id.ts';
import { embeddedPlace, ensureServer, untilStopped, type EmbeddedPlace, type Launcher } from '../embedded-redis.ts';
import { parseRedisUrl, type RedisAddress } from './redis-address.ts';
import { openTested } from '../redis-client.ts';

export interface RedisHost {
  /** HALO_HOME, absolute. */
  home: string;
  /** HALO_REDIS_URL, when set. */
  redisUrl: string | undefined;
}

/** A Redis server that answers, held for as long as the link is open. */
export interface RedisLink {
  readonly address: RedisAddress;
  readonly kind: 'external' | 'embedded';
  /** Prefix of all keys of this HALO_HOME: several homes may share one server without taking each other's jobs. */
  readonly prefix: string;
  /** For questions to the server; queues and consumers have connections of their own. */
  readonly client: Redis;
  /** The server in words, without secrets. */
  describe(): string;
  /** Leaves the server; the last process to leave an embedded one stops it. Close queues and consumers first. */
  close(): Promise<void>;
}

/** Name of the connection that each halo process keeps to an embedded server: it tells who uses it. */
const USER = 'halo-user';

/**
 * Finds Redis: the one configured, else halo's own, for which `launcher` is the last resort.
 * Throws REDIS_UNAVAILABLE within seconds.
 */
export async function connectRedis(host: RedisHost, launcher?: Launcher): Promise<RedisLink> {
  const prefix = `halo-${await readHomeId(host.home)}`;
  if (host.redisUrl !== undefined) return externalLink(parseRedisUrl(host.redisUrl), prefix);
  const place = await embeddedPlace(host.home).catch((error: NodeJS.ErrnoException) => {
    throw error instanceof HaloError ? error : cannotWrite(host.home, error);
  });
  const ensure = () => ensureServer(place, launcher);
  const client = await locked(place, async () =>
    (await ensure()) ? openTested(place.address, { connectionName: USER }) : undefined,
  );
  if (client !== undefined) return embeddedLink(place, { client, ensure, prefix });
  throw new HaloError('REDIS_UNAVAILABLE', 'There is no Redis, and no program to start one.', {
    hint: 'Install redis-server or valkey-server, or start Docker so that halo can run Redis in a container, or set HALO_REDIS_URL.',
  });
}

async function externalLink(address: RedisAddress, prefix: string): Promise<RedisLink> {
  const client = await openTested(address);
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

function embeddedLink(place: EmbeddedPlace, { client, ensure, prefix }: Embedded): RedisLink {
  let closed: Promise<void> | undefined;
  // When the server dies under its users, one of them starts it again.
  client.on('close', () => {
    if (closed === undefined) void locked(place, ensure).catch(() => undefined);
  });
  const leave = () =>
    locked(place, async () => {
      if (client.status === 'ready' && (await countUsers(client)) <= 1) {
        // The server never answers this: it closes the connection.
        const gone = once(client, 'close', { signal: AbortSignal.timeout(10_000) });
        client.shutdown().catch(() => undefined);
        await gone.catch(() => undefined);
        client.disconnect();
        await untilStopped(place);
      }
      client.disconnect();
    });
  return {
    address: place.address,
    kind: 'embedded',
    prefix,
    client,
    describe: () => `${place.address.name}, started by halo`,
    close: () => (closed ??= leave()),
  };
}

async function countUsers(client: Redis): Promise<number> {
  const list = (await client.client('LIST')) as string;
  return list.split('\n').filter((line) => line.includes(` name=${USER} `)).length;
}

async function locked<T>(place: EmbeddedPlace, work: () => Promise<T>): Promise<T> {
  return withLock(place.lock, work, { waitMs: 70_000 }).catch((error: unknown) => {
    if (!(error instanceof LockBusyError)) throw error;
    const hint = `Look at what process ${error.owner} is doing, or set HALO_REDIS_URL to a Redis of your own.`;
    throw new HaloError('REDIS_UNAVAILABLE', `Redis in ${place.dir} is being started elsewhere: ${error.message}.`, {
      hint,
      cause: error,
    });
  });
}

function cannotWrite(home: string, error: NodeJS.ErrnoException): HaloError {
  return new HaloError('DISK_FAILED', `Could not write to ${home}: ${error.message}.`, {
    hint: 'Set HALO_HOME to a folder that you may write.',
    cause: error,
  });
}
