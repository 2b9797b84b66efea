import type { Host } from '../config/config.ts';
import { connectRedis, type RedisLink } from '../queue/redis.ts';
import { startRedisContainer } from '../sandbox/docker/redis-container.ts';

/** Redis for this host: configured, embedded, or in a container where the machine has no program for it. */
export function findRedis(host: Host): Promise<RedisLink> {
  return connectRedis(host, startRedisContainer);
}
