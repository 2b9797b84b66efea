import type { Host } from '../config/config.ts';
import { HaloError } from '../core/failure/errors.ts';
import { orClose } from '../lib/or-close.ts';
import { checkRedis, type RedisFinding } from '../queue/redis/redis-health.ts';
import { connectRedis, type RedisLink } from '../queue/redis/connect-redis.ts';

/** Redis for this host: configured, embedded, or in a container where the machine has no program for it. */
export function findRedis(host: Host): Promise<RedisLink> {
  return connectRedis(host, async (place) => {
    const { startRedisContainer } = await import('../sandbox/docker/redis-container.ts');
    return startRedisContainer(place);
  });
}

/** The same to put jobs into: a server that drops them when it is full is refused. Throws REDIS_UNAVAILABLE. */
export async function findQueueServer(host: Host, warn: (finding: RedisFinding) => void): Promise<RedisLink> {
  const link = await findRedis(host);
  return orClose(link, async () => {
    const findings = await checkRedis(link);
    findings.forEach(warn);
    const bad = findings.find(({ level }) => level === 'bad');
    if (bad !== undefined) throw new HaloError('REDIS_UNAVAILABLE', bad.what, { hint: bad.hint });
    return link;
  });
}
