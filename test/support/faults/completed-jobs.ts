import { readFileSync } from 'node:fs';
import { join } from 'node:path';
import { Queue } from 'bullmq';
import { Redis } from 'ioredis';
import type { StoryJob } from '../../../src/queue/job.ts';
import type { World } from './world.ts';

/** A job that is done. */
export interface CompletedJob {
  /** The story, counted from 0; the number of stories: the end of the run. */
  ordinal: number;
  /** How often its worker stopped without giving it back. */
  stalled: number;
}

/** The jobs of a home that are done, in no certain order. */
export async function completedJobs({ home, redisSocket }: World): Promise<CompletedJob[]> {
  const prefix = `halo-${readFileSync(join(home.dir, 'id'), 'utf8').trim()}`;
  const connection = new Redis({ path: redisSocket, maxRetriesPerRequest: null });
  const queue = new Queue<StoryJob>('stories', { connection, prefix });
  try {
    return (await queue.getCompleted()).map(({ data, stalledCounter }) => ({
      ordinal: data.ordinal,
      stalled: stalledCounter,
    }));
  } finally {
    await queue.close();
    connection.disconnect();
  }
}
