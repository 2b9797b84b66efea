import type { Redis } from 'ioredis';
import { z } from 'zod';
import { safeLine } from '../core/safe-text.ts';
import type { RedisLink } from './redis/connect-redis.ts';

/** A job that was not done, because it is none of halo's. Whoever can reach Redis may have written all of it. */
export interface DeadLetter {
  /** ISO 8601 */
  at: string;
  reason: string;
  queue: string;
  id: string;
  name: string;
  /** The beginning of its payload, as JSON. */
  data: string;
}

/** Older ones go. */
const MOST = 100;
const MOST_DATA = 500;

/** Keeps a bounded copy of a job, for people to look at. */
export async function buryJob(
  client: Redis,
  prefix: string,
  job: { reason: string; queue: string; id: string; name: string; data: unknown },
): Promise<void> {
  const letter: DeadLetter = {
    at: new Date().toISOString(),
    reason: job.reason,
    queue: job.queue,
    id: safeLine(job.id, 100),
    name: safeLine(job.name, 100),
    data: safeLine(JSON.stringify(job.data) ?? '', MOST_DATA),
  };
  const key = keyOf(prefix);
  await client
    .multi()
    .lpush(key, JSON.stringify(letter))
    .ltrim(key, 0, MOST - 1)
    .exec();
}

const Letter = z.object({
  at: z.string(),
  reason: z.string(),
  queue: z.string(),
  id: z.string(),
  name: z.string(),
  data: z.string(),
});

/** The newest first; what is not of that form is left out. */
export async function readDeadLetters(link: Pick<RedisLink, 'client' | 'prefix'>): Promise<DeadLetter[]> {
  const texts = await link.client.lrange(keyOf(link.prefix), 0, MOST - 1);
  return texts.flatMap((text) => {
    try {
      return [Letter.parse(JSON.parse(text))];
    } catch {
      return [];
    }
  });
}

/** How to look at them and how to clear them, as the arguments of redis-cli. */
export function describeDeadLetters(prefix: string): { look: string; clear: string } {
  const key = keyOf(prefix);
  return { look: `lrange ${key} 0 -1`, clear: `del ${key}` };
}

function keyOf(prefix: string): string {
  return `${prefix}:dead-letters`;
}
