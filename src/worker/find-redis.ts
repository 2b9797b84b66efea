import type { Host } from '../config/config.ts';
import { connectRedis, type RedisLink } from '../queue/redis.ts';

/** Redis for this host: configured, embedded, or in a container where the machine has no program for it. */
export function findRedis(host: Host): Promise<RedisLink> {
  return connectRedis(host, async (place) => {
    const { startRedisContainer } = await import('../sandbox/docker/redis-container.ts');
    return startRedisContainer(place);
  });
}
