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
    const id = idOfToken(token);
    const record = id === undefined ? undefined : await users.findToken(id);
    if (record === undefined || !isSameSecret(hashToken(token), record.sha256) || isExpired(record, at))
      return undefined;
    if (record.session?.via === 'token') {
      const origin = await users.findToken(record.session.tokenId);
      if (origin === undefined || isExpired(origin, at)) return undefined;
    }
    const user = await users.find(record.user);
    if (user === undefined) return undefined;
    await users.markUsed(record.id, at);
    // A full disk locks no user out.
    await this.#recordSignIn({ user: user.name, token: record.id, from }, at).catch(ignore);
    return { kind: 'user', user, tokenId: record.id };
  }

  /** Records that a token was refused, with its owner if it is genuine and only expired. Throws DISK_FAILED. */
  async recordRefused(token: string, from: string): Promise<void> {
    const { users, log, now = () => new Date() } = this.#options;
    const id = idOfToken(token);
    const record = id === undefined ? undefined : await users.findToken(id);
    const isGenuine = record !== undefined && isSameSecret(hashToken(token), record.sha256);
    const known = isGenuine ? { user: record.user, reason: 'expired' } : { reason: 'unknown' };
    await log.append({ at: now().toISOString(), type: 'token.refused', ...known, ...defined({ token: id }), from });
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
  return expiresAt !== undefined && expiresAt <= now.toISOString();
}

const MAX_REMEMBERED = 10_000;
