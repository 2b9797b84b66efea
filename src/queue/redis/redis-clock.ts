import { connectRedisClient } from './redis-client.ts';
import type { RedisLink } from './connect-redis.ts';

/**
 * The clock of the Redis server. Workers must use it for times that are stored by one and compared by another, because
 * the clocks of their machines may differ or jump.
 */
export interface RedisClock {
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
