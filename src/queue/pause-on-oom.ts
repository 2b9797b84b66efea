import type { Worker } from 'bullmq';
import { isReplyError } from './redis/redis-client.ts';

const PAUSE_MS = 3000;

/**
 * Pauses a worker for three seconds whenever Redis replies with an error. A server without free memory fails
 * immediately, and bullmq would repeat the command thousands of times a second. Call the returned function to stop.
 */
export function pauseOnOom(worker: Worker<unknown>): () => void {
  let timer: NodeJS.Timeout | undefined;
  let stopped = false;
  worker.on('error', (error) => {
    if (stopped || timer !== undefined || !isReplyError(error)) return;
    void worker.pause(true);
    timer = setTimeout(() => {
      timer = undefined;
      void worker.resume();
    }, PAUSE_MS).unref();
  });
  return () => {
    stopped = true;
    clearTimeout(timer);
  };
}
