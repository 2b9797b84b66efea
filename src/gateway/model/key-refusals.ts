import type { IncomingMessage } from 'node:http';
import type { Readable } from 'node:stream';
import type { BudgetPort } from '../usage/budget-port.ts';

/** The response of a provider. */
export interface ProviderResponse extends Pick<IncomingMessage, 'statusCode' | 'headers'> {
  stream: Readable;
  /** Its body, if it was read before it is streamed. */
  body?: string;
}

/** The status of a key that the provider does not know. */
const INVALID_KEY = 401;
/** Statuses that may be about the key or the request: not paid, not permitted, and 429 without a wait: a used-up quota. */
const DOUBTFUL = [402, 403, 429];
/** How long other requests do not use a key that was refused, and one that had an error without a wait. */
const REFUSED_MS = 10 * 60_000;
const LIMITED_MS = 60_000;

/**
 * The keys that a provider refuses for one request. A key is only blocked for other requests if its status leaves no
 * doubt, or if another key gets an answer: a sandbox decides what its requests contain.
 */
export class KeyRefusals {
  /** Positions of the keys that this request does not use again. */
  readonly avoid: number[] = [];
  /** The last response that may be about the request. */
  last: ProviderResponse | undefined;
  readonly #budget: BudgetPort;
  readonly #model: string;
  readonly #keys: number;
  readonly #limited = new Set<number>();
  #count = 0;

  /** `keys`: how many there are. */
  constructor(budget: BudgetPort, { model, keys }: { model: string; keys: number }) {
    this.#budget = budget;
    this.#model = model;
    this.#keys = keys;
  }

  /** Adds a response without a wait. Returns whether the request may be sent with another key. */
  async add(response: ProviderResponse, key: number): Promise<boolean> {
    const { statusCode = 0 } = response;
    const isInvalid = statusCode === INVALID_KEY;
    if (!isInvalid && !DOUBTFUL.includes(statusCode)) {
      if (statusCode < 400) await this.#block();
      return false;
    }
    this.#count += 1;
    if (this.#count >= this.#keys) return false;
    if (isInvalid) await this.#refuse(key);
    else {
      this.avoid.push(key);
      if (statusCode === 429) this.#limited.add(key);
      this.last = response;
    }
    return true;
  }

  /** Another key has got an answer to the same request. */
  async #block(): Promise<void> {
    const model = this.#model;
    for (const key of this.avoid) {
      if (this.#limited.has(key)) await this.#budget.pauseKey({ model, key, ms: LIMITED_MS, why: 'provider' });
      else await this.#refuse(key);
    }
  }

  #refuse(key: number): Promise<void> {
    return this.#budget.pauseKey({ model: this.#model, key, ms: REFUSED_MS, why: 'refused' });
  }
}
