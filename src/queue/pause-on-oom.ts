import type { Worker } from 'bullmq';
import { isRefusal } from './refusal.ts';

const REST_MS = 3000;

/**
 * Lets a worker rest for a moment whenever Redis refuses what it asks for: a full server refuses at once, and the
 * worker would ask again at once, thousands of times a second. The function it answers with ends that.
 */
export function restWhenRefused(worker: Worker<unknown>): () => void {
  let timer: NodeJS.Timeout | undefined;
  let stopped = false;
  worker.on('error', (error) => {
    if (stopped || timer !== undefined || !isRefusal(error)) return;
    void worker.pause(true);
    timer = setTimeout(() => {
      timer = undefined;
      void worker.resume();
    }, REST_MS).unref();
  });
  return () => {
    stopped = true;
    clearTimeout(timer);
  };
}
