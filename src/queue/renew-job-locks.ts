import type { Worker } from 'bullmq';
import type { Redis } from 'ioredis';
import { sleep } from '../lib/async.ts';
import { isReplyError } from './redis/redis-client.ts';

export interface RenewLocksOptions {
  client: Redis;
  /** How long a lock lasts, in ms. */
  takeoverMs: number;
  /** The lock token of each job that the worker runs, by job id. */
  tokens: ReadonlyMap<string, string>;
}

const RETRY_MS = 500;

/**
 * Cancels a job when its lock is lost, because another worker owns it then. A lock that expired because Redis had no
 * memory to renew it is not lost, since no other worker could take it: it is acquired again as soon as Redis allows it.
 */
export function renewJobLocks(worker: Worker<unknown>, { client, takeoverMs, tokens }: RenewLocksOptions): void {
  const regaining = new Set<string>();
  const regain = async (id: string): Promise<void> => {
    const token = tokens.get(id) ?? '';
    const take = async () => {
      const isActive = (await client.lpos(worker.toKey('active'), id)) !== null;
      return isActive && (await client.set(worker.toKey(`${id}:lock`), token, 'PX', takeoverMs, 'NX')) !== null;
    };
    while (tokens.get(id) === token) {
      try {
        if (await take()) return;
        break;
      } catch (error) {
        if (!isReplyError(error)) throw error;
        await sleep(RETRY_MS);
      }
    }
    worker.cancelJob(id, 'lock lost');
  };
  worker.on('lockRenewalFailed', (ids) => {
    for (const id of ids.filter((each) => !regaining.has(each))) {
      regaining.add(id);
      regain(id)
        .catch(() => worker.cancelJob(id, 'lock lost'))
        .finally(() => regaining.delete(id));
    }
  });
}
