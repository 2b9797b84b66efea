import { HaloError } from '../../core/failure/errors.ts';

interface FairSlotsOptions {
  /** What a piece of work is, for messages, such as `replay`. */
  what: string;
  /** Pieces of work that run at the same time. */
  slots: number;
  /** Of one user, those that run and those that wait. */
  perUser: number;
}

interface Waiting {
  user: string;
  start: () => void;
}

/** Work of all users of a server that shares something, such as its thread. None waits for all work of another user. */
export class FairSlots {
  readonly #options: FairSlotsOptions;
  readonly #counts = new Map<string, number>();
  readonly #waiting: Waiting[] = [];
  #running = 0;
  #last: string | undefined;

  constructor(options: FairSlotsOptions) {
    this.#options = options;
  }

  /** Runs `work` when it is the turn of the user; not at all if the signal aborts before. Throws TOO_MANY_REQUESTS, and what `work` throws. */
  async run<T>(user: string, work: () => Promise<T>, signal?: AbortSignal): Promise<T> {
    const count = this.#counts.get(user) ?? 0;
    const { what, perUser } = this.#options;
    if (count >= perUser)
      throw new HaloError('TOO_MANY_REQUESTS', `As many requests as allowed (${perUser}) are running: ${what}.`, {
        hint: 'Wait until one of them has ended, and try again.',
      });
    this.#counts.set(user, count + 1);
    try {
      await this.#turn(user);
      try {
        signal?.throwIfAborted();
        return await work();
      } finally {
        this.#running -= 1;
        this.#startNext();
      }
    } finally {
      const rest = (this.#counts.get(user) ?? 1) - 1;
      if (rest === 0) this.#counts.delete(user);
      else this.#counts.set(user, rest);
    }
  }

  #turn(user: string): Promise<void> {
    return new Promise((start) => {
      this.#waiting.push({ user, start });
      this.#startNext();
    });
  }

  /** The one that has waited longest of a user whose turn was not the last one. */
  #startNext(): void {
    if (this.#running >= this.#options.slots || this.#waiting.length === 0) return;
    const other = this.#waiting.findIndex(({ user }) => user !== this.#last);
    const [next] = this.#waiting.splice(Math.max(0, other), 1);
    this.#running += 1;
    this.#last = next?.user;
    next?.start();
  }
}
