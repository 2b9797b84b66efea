import type { Worker } from 'bullmq';
import { isReplyError } from './redis/redis-client.ts';

/** Why a worker takes no jobs: Redis fails, an operator drains the worker, or it closes. */
type PauseReason = 'failing' | 'drain' | 'close';

/** The only place that pauses and resumes a worker: it takes jobs while there is no reason against it. */
export class PauseSwitch {
  readonly #worker: Worker<unknown>;
  readonly #reasons = new Set<PauseReason>();

  constructor(worker: Worker<unknown>) {
    this.#worker = worker;
  }

  /** Adds or removes a reason. Resolves when the worker fetches no more jobs, or fetches jobs again. */
  async set(reason: PauseReason, holds: boolean): Promise<void> {
    const wasPaused = this.#reasons.size > 0;
    if (holds) this.#reasons.add(reason);
    else this.#reasons.delete(reason);
    const isPaused = this.#reasons.size > 0;
    if (isPaused !== wasPaused) await (isPaused ? this.#worker.pause(true) : this.#worker.resume());
  }
}

const PAUSE_MS = 3000;

/**
 * Pauses a worker for three seconds whenever Redis replies with an error. A server without free memory fails
 * immediately, and bullmq would repeat the command thousands of times a second.
 */
export function pauseOnOom(worker: Worker<unknown>, pauses: PauseSwitch): void {
  let timer: NodeJS.Timeout | undefined;
  worker.on('error', (error) => {
    if (timer !== undefined || !isReplyError(error)) return;
    void pauses.set('failing', true);
    timer = setTimeout(() => {
      timer = undefined;
      void pauses.set('failing', false);
    }, PAUSE_MS).unref();
  });
}
