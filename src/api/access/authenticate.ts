import type { User } from '../../core/access/access.ts';
import { ignore } from '../../lib/async.ts';
import { defined } from '../../lib/guards.ts';
import type { AccessLog } from '../../store/access/access-log.ts';
import type { TokenRecord, UserFiles } from '../../store/access/user-files.ts';
import { hashToken, idOfToken, isOwnerSession, isSameSecret } from './access-token.ts';

/** Who sent a request. */
export type Caller =
  /** The owner of HALO_HOME, by the token of the server: may do everything. */
  { kind: 'owner'; tokenId?: undefined } | { kind: 'user'; user: User; tokenId: string };

export interface AuthenticatorOptions {
  /** The token of the server. */
  ownerToken: string;
  users: UserFiles;
  log: AccessLog;
  now?: () => Date;
}

/** A sign-in with a token is recorded again after this time. */
const SIGN_IN_STEP_MS = 60 * 60_000;

/** Determines who sent a request, by its bearer token. */
export class Authenticator {
  /** When the sign-in with a token was recorded last, in ms, by token and address. */
  readonly #recorded = new Map<string, number>();

  readonly #options: AuthenticatorOptions;

  constructor(options: AuthenticatorOptions) {
    this.#options = options;
  }

  /** Undefined if the token is unknown, expired or revoked. `from` is the address of the client. Throws DISK_FAILED. */
  async identify(token: string, from: string): Promise<Caller | undefined> {
    if (isSameSecret(token, this.#options.ownerToken)) return { kind: 'owner' };
    const { users, now = () => new Date() } = this.#options;
    const at = now();
    if (isOwnerSession(token, this.#options.ownerToken, at)) return { kind: 'owner' };
    const found = await this.#judge(token, at);
    if ('reason' in found) return undefined;
    const { record, user } = found;
    await users.markUsed(record.id, at);
    // A full disk locks no user out.
    await this.#recordSignIn({ user: user.name, token: record.id, from }, at).catch(ignore);
    return { kind: 'user', user, tokenId: record.id };
  }

  /** Records that a token was refused and why, with its owner if it is genuine. Throws DISK_FAILED. */
  async recordRefused(token: string, from: string): Promise<void> {
    const { log, now = () => new Date() } = this.#options;
    const at = now();
    const judged = await this.#judge(token, at);
    // Valid again since it was refused.
    if (!('reason' in judged)) return;
    const known = { ...judged, ...defined({ token: idOfToken(token) }), from };
    await log.append({ at: at.toISOString(), type: 'token.refused', ...known });
  }

  /** The user of a token, or why it is refused; `user`: whose token it is, if it is genuine. */
  async #judge(
    token: string,
    at: Date,
  ): Promise<{ record: TokenRecord; user: User } | { reason: string; user?: string }> {
    const { users } = this.#options;
    const id = idOfToken(token);
    const record = id === undefined ? undefined : await users.findToken(id);
    if (record === undefined || !isSameSecret(hashToken(token), record.sha256)) return { reason: 'unknown' };
    const refused = (reason: string) => ({ reason, user: record.user });
    if (isExpired(record, at)) return refused('expired');
    if (record.session?.via === 'token') {
      const origin = await users.findToken(record.session.tokenId);
      if (origin === undefined || isExpired(origin, at)) return refused('the token of its sign-in has ended');
    }
    const user = await users.find(record.user);
    return user === undefined ? refused('its user was removed') : { record, user };
  }

  async #recordSignIn(who: { user: string; token: string; from: string }, at: Date): Promise<void> {
    const key = `${who.token} ${who.from}`;
    if (at.getTime() - (this.#recorded.get(key) ?? -Infinity) < SIGN_IN_STEP_MS) return;
    if (this.#recorded.size > MAX_REMEMBERED) this.#recorded.clear();
    this.#recorded.set(key, at.getTime());
    await this.#options.log.append({ at: at.toISOString(), type: 'token.used', ...who });
  }
}

function isExpired({ expiresAt }: TokenRecord, now: Date): boolean {
  // Also if it cannot be read.
  return expiresAt !== undefined && !(Date.parse(expiresAt) > now.getTime());
}

const MAX_REMEMBERED = 10_000;
