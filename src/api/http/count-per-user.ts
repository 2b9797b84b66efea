import type { FastifyReply } from 'fastify';
import { HaloError } from '../../core/failure/errors.ts';

interface CountOptions {
  max: number;
  /** What is counted, for messages, such as `open streams`. */
  what: string;
  hint: string;
}

/** Counts the requests of users that have no end yet, over all tokens and sessions of a user. */
export class CountPerUser {
  readonly #counts = new Map<string, number>();
  readonly #options: CountOptions;

  constructor(options: CountOptions) {
    this.#options = options;
  }

  /** Counts a request until its response ends. Throws TOO_MANY_REQUESTS. */
  add(reply: FastifyReply, user: string): void {
    const { max, what, hint } = this.#options;
    const count = this.#counts.get(user) ?? 0;
    if (count >= max)
      throw new HaloError('TOO_MANY_REQUESTS', `User ${user} has ${count} ${what}, which is the maximum.`, { hint });
    this.#counts.set(user, count + 1);
    reply.raw.once('close', () => {
      const rest = (this.#counts.get(user) ?? 1) - 1;
      if (rest === 0) this.#counts.delete(user);
      else this.#counts.set(user, rest);
    });
  }
}
