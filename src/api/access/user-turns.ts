import { HaloError } from '../../core/failure/errors.ts';

interface UserTurnsOptions {
  /** Pieces of work of one user that run at the same time, and that wait for these. */
  running: number;
  waiting: number;
  /** What they are, for messages, such as `submits`. */
  what: string;
}

interface Queue {
  running: number;
  waiting: (() => void)[];
}

/** Lets few pieces of work of each user run at the same time; further ones of this user wait. */
export class UserTurns {
  readonly #users = new Map<string, Queue>();
  readonly #options: UserTurnsOptions;

  constructor(options: UserTurnsOptions) {
    this.#options = options;
  }

  /** Waits for the turn, and returns the function that ends it. Throws TOO_MANY_REQUESTS, and RUN_ABORTED if the client has left. */
  async enter(user: string, signal: AbortSignal | undefined): Promise<() => void> {
    const queue = this.#users.get(user) ?? { running: 0, waiting: [] };
    this.#users.set(user, queue);
    if (queue.running < this.#options.running) queue.running += 1;
    else await this.#wait(user, queue, signal);
    const leave = () => {
      // The next one gets the place.
      const next = queue.waiting.shift();
      if (next !== undefined) return next();
      queue.running -= 1;
      if (queue.running === 0) this.#users.delete(user);
    };
    if (signal?.aborted !== true) return leave;
    leave();
    throw clientLeft();
  }

  async #wait(user: string, queue: Queue, signal: AbortSignal | undefined): Promise<void> {
    const { waiting, what } = this.#options;
    if (queue.waiting.length >= waiting)
      throw new HaloError('TOO_MANY_REQUESTS', `User ${user} has ${waiting} ${what} that wait.`, {
        hint: 'Wait for their results, and try again.',
      });
    await new Promise<void>((resolve, reject) => {
      queue.waiting.push(resolve);
      const stop = () => {
        const place = queue.waiting.indexOf(resolve);
        if (place < 0) return;
        queue.waiting.splice(place, 1);
        reject(clientLeft());
      };
      signal?.addEventListener('abort', stop, { once: true });
    });
  }
}

export function clientLeft(): HaloError {
  return new HaloError('RUN_ABORTED', 'The client has left.');
}
