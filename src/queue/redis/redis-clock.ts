import { openTested } from '../redis-client.ts';
import type { RedisLink } from './connect-redis.ts';

/**
 * The time of all workers that share a Redis: that of its server. Times that one worker writes down and another one
 * compares must be of this clock, since the machines' own may differ or jump.
 */
export interface FleetClock {
  /** In ms since 1970. Goes on by itself while the server is away. */
  now: () => number;
  close(): void;
}

const EVERY_MS = 10_000;

/** Throws REDIS_UNAVAILABLE. */
export async function openFleetClock(link: Pick<RedisLink, 'address'>): Promise<FleetClock> {
  const client = await openTested(link.address);
  // From here on a server that is away is not waited for.
  client.options.enableOfflineQueue = false;
  /** What has to be added to the time since this process began, which no clock that is set anew changes. */
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
  }, EVERY_MS).unref();
  return {
    now: () => Math.round(offset + performance.now()),
    close: () => {
      clearInterval(timer);
      client.disconnect();
    },
  };
}
