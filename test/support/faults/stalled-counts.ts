import { readFileSync } from 'node:fs';
import { join } from 'node:path';
import { Queue } from 'bullmq';
import { Redis } from 'ioredis';
import type { World } from './world.ts';

/** How often each job that is done lost its worker without a word. */
export async function stalledCounts({ home, redisSocket }: World): Promise<number[]> {
  const prefix = `halo-${readFileSync(join(home.dir, 'id'), 'utf8').trim()}`;
  const connection = new Redis({ path: redisSocket, maxRetriesPerRequest: null });
  const queue = new Queue('stories', { connection, prefix });
  try {
    return (await queue.getCompleted()).map(({ stalledCounter }) => stalledCounter);
  } finally {
    await queue.close();
    connection.disconnect();
  }
}
