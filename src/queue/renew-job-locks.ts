import type { Worker } from 'bullmq';
import type { Redis } from 'ioredis';
import { sleep } from '../lib/sleep.ts';
import { isRefusal } from './refusal.ts';

export interface LockKeeper {
  client: Redis;
  /** How long a lock lasts, in ms. */
  takeoverMs: number;
  /** The lock of each job that the worker has, by the job's id. */
  tokens: ReadonlyMap<string, string>;
}

const AGAIN_MS = 500;

/**
 * Stops a job when its lock is lost: it belongs to another worker by now. A lock that ran out because Redis refused to
 * renew it, being full, is not lost, for nobody else could take it: it is taken again as soon as Redis lets us.
 */
export function holdLocks(worker: Worker<unknown>, { client, takeoverMs, tokens }: LockKeeper): void {
  const regaining = new Set<string>();
  const regain = async (id: string): Promise<void> => {
    const token = tokens.get(id) ?? '';
    const take = async () => {
      const isUnderWay = (await client.lpos(worker.toKey('active'), id)) !== null;
      return isUnderWay && (await client.set(worker.toKey(`${id}:lock`), token, 'PX', takeoverMs, 'NX')) !== null;
    };
    while (tokens.get(id) === token) {
      try {
        if (await take()) return;
        break;
      } catch (error) {
        if (!isRefusal(error)) throw error;
        await sleep(AGAIN_MS);
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
