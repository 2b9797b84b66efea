import { isOlderVersion } from '../../lib/version.ts';
import type { RedisLink } from './connect-redis.ts';
import { connectRedisClient, sendsReadablePassword } from './redis-client.ts';

/** A property of the server with which the queue cannot work (`bad`) or should not (`warn`). */
export interface RedisProblem {
  level: 'bad' | 'warn';
  what: string;
  /** How to fix it, one sentence. */
  hint: string;
}

const MIN_VERSION = '6.2';

/** Finds properties of the server and its address that endanger the queue: version, eviction, persistence, password. */
export async function findRedisProblems(link: Pick<RedisLink, 'client' | 'address'>): Promise<RedisProblem[]> {
  const info = parseInfo(await link.client.info());
  const problems: RedisProblem[] = [];
  const version = info.get('redis_version') ?? '0';
  if (isOlderVersion(version, MIN_VERSION))
    problems.push({
      level: 'bad',
      what: `Redis ${version} is older than ${MIN_VERSION}.`,
      hint: 'Install a newer Redis or Valkey.',
    });
  const policy = info.get('maxmemory_policy');
  if (policy !== undefined && policy !== 'noeviction')
    problems.push({
      level: 'bad',
      what: `Redis may drop jobs when its memory is full: maxmemory-policy is ${policy}.`,
      hint: 'Set it in redis.conf, or run redis-cli config set maxmemory-policy noeviction.',
    });
  if (info.get('aof_enabled') === '0')
    problems.push({
      level: 'warn',
      what: 'Redis loses the queue when it restarts: its append-only file is off.',
      hint: 'Set it in redis.conf, or run redis-cli config set appendonly yes.',
    });
  if (sendsReadablePassword(link.address))
    problems.push({
      level: 'warn',
      what: `The password of ${link.address.name} can be read on the network: the connection is not encrypted.`,
      hint: 'Use rediss:// in HALO_REDIS_URL, or an encrypted tunnel to this machine.',
    });
  return problems;
}

function parseInfo(text: string): Map<string, string> {
  const lines = text.split(/\r?\n/).filter((line) => line.includes(':'));
  return new Map(lines.map((line) => [line.slice(0, line.indexOf(':')), line.slice(line.indexOf(':') + 1)]));
}

/**
 * The clock of the Redis server. Workers must use it for times that are stored by one and compared by another, because
 * the clocks of their machines may differ or jump.
 */
interface RedisClock {
  /** Milliseconds since 1970. Keeps running while the server is disconnected. */
  now: () => number;
  close(): void;
}

const MEASURE_INTERVAL_MS = 10_000;

/** Opens a clock on its own connection. Throws REDIS_UNAVAILABLE. */
export async function openRedisClock(link: Pick<RedisLink, 'address'>): Promise<RedisClock> {
  const client = await connectRedisClient(link.address);
  // From now on commands fail while the server is disconnected.
  client.options.enableOfflineQueue = false;
  /** The difference to the monotonic clock of this process, which is not affected by changes of the system time. */
  const measure = async () => {
    const before = performance.now();
    const [seconds, micros] = await client.time();
    return Number(seconds) * 1000 + Number(micros) / 1000 - (before + performance.now()) / 2;
  };
  let offset = await measure();
  const timer = setInterval(() => {
    measure().then(
      (measured) => (offset = measured),
      () => undefined,
    );
  }, MEASURE_INTERVAL_MS).unref();
  return {
    now: () => Math.round(offset + performance.now()),
    close: () => {
      clearInterval(timer);
      client.disconnect();
    },
  };
}
