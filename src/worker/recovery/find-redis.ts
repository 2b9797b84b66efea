import type { Host } from '../../config/config.ts';
import { HaloError } from '../../core/failure/errors.ts';
import { closeOnError } from '../../lib/async.ts';
import { findRedisProblems, type RedisProblem } from '../../queue/redis/redis-health.ts';
import { connectRedis, type RedisLink } from '../../queue/redis/connect-redis.ts';

/** Connects to the host's Redis: configured, embedded, or in a container if the machine has no Redis program. */
export function connectHostRedis(host: Host): Promise<RedisLink> {
  return connectRedis(host, async (place) => {
    const { startRedisContainer } = await import('../../sandbox/docker/redis-container.ts');
    return startRedisContainer(place);
  });
}

/** The same for the queue. Throws REDIS_UNAVAILABLE for a server that would evict jobs when it is full. */
export async function connectQueueRedis(host: Host, warn: (finding: RedisProblem) => void): Promise<RedisLink> {
  const link = await connectHostRedis(host);
  return closeOnError(link, async () => {
    const findings = await findRedisProblems(link);
    findings.forEach(warn);
    const bad = findings.find(({ level }) => level === 'bad');
    if (bad !== undefined) throw new HaloError('REDIS_UNAVAILABLE', bad.what, { hint: bad.hint });
    return link;
  });
}
