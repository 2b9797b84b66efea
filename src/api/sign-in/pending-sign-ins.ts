import { createCipheriv, createDecipheriv, randomBytes } from 'node:crypto';
import type { PendingSignIn } from './oidc-provider.ts';

/** A sign-in that a browser has begun. */
interface BegunSignIn {
  checks: PendingSignIn;
  /** A path of this server. */
  returnTo: string;
}

const PENDING_MS = 10 * 60_000;
const CIPHER = 'aes-256-gcm';
const IV_BYTES = 12;
const TAG_BYTES = 16;

/**
 * Sign-ins that have begun. Each is in a cookie of its browser, sealed: the server keeps nothing that strangers could make it
 * forget. After a restart of the server, they begin again.
 */
export class PendingSignIns {
  readonly #key = randomBytes(32);
  /** Until when the states of completed sign-ins would be valid, in ms. */
  readonly #completed = new Map<string, number>();
  readonly #now: () => number;

  constructor(now: () => number = Date.now) {
    this.#now = now;
  }

  /** The value of the cookie that binds the sign-in to the browser. */
  seal(begun: BegunSignIn): string {
    const iv = randomBytes(IV_BYTES);
    const cipher = createCipheriv(CIPHER, this.#key, iv);
    const text = JSON.stringify({ ...begun, until: this.#now() + PENDING_MS });
    const sealed = Buffer.concat([cipher.update(text, 'utf8'), cipher.final()]);
    return Buffer.concat([iv, cipher.getAuthTag(), sealed]).toString('base64url');
  }

  /** The sign-in that a state of the provider belongs to, if one of the cookies has it and it is not completed. */
  find(cookies: readonly string[], state: string): BegunSignIn | undefined {
    const begun = cookies.map((cookie) => this.#open(cookie)).find((each) => each?.checks.state === state);
    return begun !== undefined && begun.until > this.#now() && !this.#completed.has(state) ? begun : undefined;
  }

  /** Each is used once. */
  complete({ checks }: BegunSignIn): void {
    for (const [state, until] of this.#completed) if (until <= this.#now()) this.#completed.delete(state);
    this.#completed.set(checks.state, this.#now() + PENDING_MS);
  }

  #open(cookie: string): (BegunSignIn & { until: number }) | undefined {
    const bytes = Buffer.from(cookie, 'base64url');
    try {
      const decipher = createDecipheriv(CIPHER, this.#key, bytes.subarray(0, IV_BYTES), { authTagLength: TAG_BYTES });
      decipher.setAuthTag(bytes.subarray(IV_BYTES, IV_BYTES + TAG_BYTES));
      const text = Buffer.concat([decipher.update(bytes.subarray(IV_BYTES + TAG_BYTES)), decipher.final()]);
      // Only `seal` can have made it.
      return JSON.parse(text.toString()) as BegunSignIn & { until: number };
    } catch {
      return undefined;
    }
  }
}
