import type { Redis } from 'ioredis';
import { z } from 'zod';
import { safeLine } from '../core/text/safe-text.ts';
import type { RedisLink } from './redis/connect-redis.ts';

/** A rejected job. Its content is untrusted: any client of Redis may have written it. */
interface DeadLetter {
  /** ISO 8601 */
  at: string;
  reason: string;
  queue: string;
  id: string;
  name: string;
  /** The first characters of its payload as JSON. */
  data: string;
}

/** Older letters are dropped. */
const MAX_LETTERS = 100;
const MAX_DATA_LENGTH = 500;

/** Stores a bounded copy of a rejected job for inspection. */
export async function addDeadLetter(
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
    data: safeLine(JSON.stringify(job.data) ?? '', MAX_DATA_LENGTH),
  };
  const key = keyOf(prefix);
  await client
    .multi()
    .lpush(key, JSON.stringify(letter))
    .ltrim(key, 0, MAX_LETTERS - 1)
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

/** The dead letters, newest first. Entries of another format are skipped. */
export async function readDeadLetters(link: Pick<RedisLink, 'client' | 'prefix'>): Promise<DeadLetter[]> {
  const texts = await link.client.lrange(keyOf(link.prefix), 0, MAX_LETTERS - 1);
  return texts.flatMap((text) => {
    try {
      return [Letter.parse(JSON.parse(text))];
    } catch {
      return [];
    }
  });
}

/** The redis-cli arguments that show and clear the dead letters. */
export function deadLetterCommands(prefix: string): { look: string; clear: string } {
  const key = keyOf(prefix);
  return { look: `lrange ${key} 0 -1`, clear: `del ${key}` };
}

function keyOf(prefix: string): string {
  return `${prefix}:dead-letters`;
}
