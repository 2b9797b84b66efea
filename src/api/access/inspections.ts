import { HaloError } from '../../core/failure/errors.ts';
import { limitGit, QUESTION_MS } from '../../git/process/git-limits.ts';

/** Operations of one user that ask git about repositories: at the same time, and waiting for these. */
const MAX_RUNNING = 4;
const MAX_WAITING = 60;

interface Queue {
  running: number;
  waiting: (() => void)[];
}

/**
 * Limits operations that read repositories on the machine of the server: few of one user run at the same time, and their git
 * processes end soon, and when the client leaves.
 */
export class Inspections {
  readonly #users = new Map<string, Queue>();
  readonly #gitMs: number;

  constructor({ gitMs = QUESTION_MS }: { gitMs?: number } = {}) {
    this.#gitMs = gitMs;
  }

  /** Throws TOO_MANY_REQUESTS, RUN_ABORTED, and what `work` throws. */
  async run<T>(user: string, signal: AbortSignal | undefined, work: () => Promise<T>): Promise<T> {
    const queue = this.#users.get(user) ?? { running: 0, waiting: [] };
    this.#users.set(user, queue);
    await this.#enter(user, queue, signal);
    try {
      if (signal?.aborted === true) throw new HaloError('RUN_ABORTED', 'The client has left.');
      return await limitGit({ timeoutMs: this.#gitMs, signal }, work);
    } finally {
      queue.running -= 1;
      queue.waiting.shift()?.();
      if (queue.running === 0) this.#users.delete(user);
    }
  }

  /** The place is taken when this resolves, also if the client has left. */
  async #enter(user: string, queue: Queue, signal: AbortSignal | undefined): Promise<void> {
    if (queue.running >= MAX_RUNNING) {
      if (queue.waiting.length >= MAX_WAITING)
        throw new HaloError('TOO_MANY_REQUESTS', `User ${user} has ${MAX_WAITING} submits that wait.`, {
          hint: 'Wait for their results, and try again.',
        });
      await new Promise<void>((resolve) => {
        queue.waiting.push(resolve);
        signal?.addEventListener('abort', () => {
          const place = queue.waiting.indexOf(resolve);
          if (place < 0) return;
          queue.waiting.splice(place, 1);
          resolve();
        });
      });
    }
    queue.running += 1;
  }
}
