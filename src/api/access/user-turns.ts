import { HaloError } from '../../core/failure/errors.ts';

interface UserTurnsOptions {
  /** What is limited, for messages, such as `open streams`. */
  what: string;
  /** Of one user, over all tokens and sessions. */
  max: number;
  /** Of these, those that run at the same time; the others wait. Absent: all. */
  running?: number;
  /** Of all users, those that run at the same time: they share something, such as a thread. Absent: all. */
  slots?: number;
  hint?: string;
}

interface Waiting {
  user: string;
  start: () => void;
}

/** Limits what users of a server do at the same time. None waits for all work of another user. */
export class UserTurns {
  readonly #options: Required<UserTurnsOptions>;
  readonly #taken = new Map<string, number>();
  readonly #running = new Map<string, number>();
  readonly #waiting: Waiting[] = [];
  #last: string | undefined;

  constructor(options: UserTurnsOptions) {
    const hint = 'Wait until one of them has ended, and try again.';
    this.#options = { running: Infinity, slots: Infinity, hint, ...options };
  }

  /** Counts something that runs without a turn, and returns the function that ends it. Throws TOO_MANY_REQUESTS. */
  take(user: string): () => void {
    const { max, what, hint } = this.#options;
    const count = this.#taken.get(user) ?? 0;
    const who = user === '' ? 'The owner of the server' : `User ${user}`;
    if (count >= max)
      throw new HaloError('TOO_MANY_REQUESTS', `${who} has ${count} ${what}, which is the maximum.`, { hint });
    add(this.#taken, user, 1);
    return () => add(this.#taken, user, -1);
  }

  /** Waits for the turn, and returns the function that ends it. Throws TOO_MANY_REQUESTS, and RUN_ABORTED if the client has left. */
  async enter(user: string, signal: AbortSignal | undefined): Promise<() => void> {
    const free = this.take(user);
    const leave = () => {
      free();
      add(this.#running, user, -1);
      this.#startNext();
    };
    await this.#turn(user, signal).catch((error: unknown) => {
      free();
      throw error;
    });
    if (signal?.aborted !== true) return leave;
    leave();
    throw clientLeft();
  }

  /** Runs `work` when it is the turn of the user. Throws like `enter`, and what `work` throws. */
  async run<T>(user: string, work: () => Promise<T>, signal?: AbortSignal): Promise<T> {
    const leave = await this.enter(user, signal);
    try {
      return await work();
    } finally {
      leave();
    }
  }

  #turn(user: string, signal: AbortSignal | undefined): Promise<void> {
    return new Promise((start, reject) => {
      const waiting = { user, start };
      this.#waiting.push(waiting);
      this.#startNext();
      const stop = () => {
        const place = this.#waiting.indexOf(waiting);
        if (place < 0) return;
        this.#waiting.splice(place, 1);
        reject(clientLeft());
      };
      if (signal?.aborted === true) stop();
      else signal?.addEventListener('abort', stop, { once: true });
    });
  }

  /** The one that has waited longest, if possible of a user whose turn was not the last one. */
  #startNext(): void {
    const { running, slots } = this.#options;
    if ([...this.#running.values()].reduce((sum, count) => sum + count, 0) >= slots) return;
    const ready = this.#waiting.filter(({ user }) => (this.#running.get(user) ?? 0) < running);
    const next = ready.find(({ user }) => user !== this.#last) ?? ready[0];
    if (next === undefined) return;
    this.#waiting.splice(this.#waiting.indexOf(next), 1);
    add(this.#running, next.user, 1);
    this.#last = next.user;
    next.start();
  }
}

function add(counts: Map<string, number>, user: string, step: 1 | -1): void {
  const count = (counts.get(user) ?? 0) + step;
  if (count === 0) counts.delete(user);
  else counts.set(user, count);
}

export function clientLeft(): HaloError {
  return new HaloError('RUN_ABORTED', 'The client has left.');
}
