import type { User } from '../../core/access/access.ts';
import { ignore } from '../../lib/async.ts';
import { defined } from '../../lib/guards.ts';
import type { AccessLog } from '../../store/access/access-log.ts';
import type { TokenRecord, UserFiles } from '../../store/access/user-files.ts';
import { hashOwnerCookie, hashToken, idOfToken, isSameSecret } from './access-token.ts';
import type { Credential } from './credential.ts';

/** Who sent a request. */
export type Caller =
  /** The owner of HALO_HOME, by the token of the server: may do everything. */
  { kind: 'owner'; tokenId?: undefined } | { kind: 'user'; user: User; tokenId: string };

interface AuthenticatorOptions {
  /** The token of the server. */
  ownerToken: string;
  users: UserFiles;
  log: AccessLog;
  now?: () => Date;
}

/** A sign-in with a token is recorded again after this time. */
const SIGN_IN_STEP_MS = 60 * 60_000;

/** Who sent a request, or why it is refused; `user` and `token`: whose it is, if it is genuine. */
type Judged =
  | { caller: { kind: 'owner' } }
  | { caller: { kind: 'user'; user: User; tokenId: string } }
  | { reason: string; user?: string; token?: string };

/** Determines who sent a request, by the token of a program or the session of a browser. */
export class Authenticator {
  /** When the sign-in with a token was recorded last, in ms, by token and address. */
  readonly #recorded = new Map<string, number>();

  readonly #options: AuthenticatorOptions;

  constructor(options: AuthenticatorOptions) {
    this.#options = options;
  }

  /** Undefined if the credential is unknown, expired or revoked. `from` is the address of the client. Throws DISK_FAILED. */
  async identify(credential: Credential, from: string): Promise<Caller | undefined> {
    const at = this.#now();
    const judged = await this.#judge(credential, at);
    if ('reason' in judged) return undefined;
    const { caller } = judged;
    if (caller.kind === 'owner') return caller;
    await this.#options.users.markUsed(caller.tokenId, at);
    // A full disk locks no user out.
    await this.#recordSignIn({ user: caller.user.name, token: caller.tokenId, from }, at).catch(ignore);
    return caller;
  }

  /** Records that a credential was refused and why, with its owner if it is genuine. Throws DISK_FAILED. */
  async recordRefused(credential: Credential, from: string): Promise<void> {
    const at = this.#now();
    const judged = await this.#judge(credential, at);
    // Valid again since it was refused.
    if (!('reason' in judged)) return;
    await this.#options.log.append({ at: at.toISOString(), type: 'token.refused', ...judged, from });
  }

  /** The record of a session for its page key and one of the cookies; undefined if they do not fit. Throws DISK_FAILED. */
  async findSession(credential: Credential): Promise<TokenRecord | undefined> {
    const { users, ownerToken } = this.#options;
    if (credential.from !== 'page' || credential.pageKey === undefined) return undefined;
    const id = idOfToken(credential.pageKey);
    const record = id === undefined ? undefined : await users.findToken(id);
    const { via, pageSha256 } = record?.session ?? {};
    if (record === undefined || pageSha256 === undefined) return undefined;
    if (!isSameSecret(hashToken(credential.pageKey), pageSha256)) return undefined;
    const hash = (cookie: string) => (via === 'owner' ? hashOwnerCookie(cookie, ownerToken) : hashToken(cookie));
    // A program on another port can add cookies of the same name, but not remove this one.
    return credential.cookies.some((cookie) => isSameSecret(hash(cookie), record.sha256)) ? record : undefined;
  }

  async #judge(credential: Credential, at: Date): Promise<Judged> {
    if (credential.from === 'page') return this.#judgeSession(credential, at);
    const { token } = credential;
    if (isSameSecret(token, this.#options.ownerToken)) return { caller: { kind: 'owner' } };
    const id = idOfToken(token);
    const record = id === undefined ? undefined : await this.#options.users.findToken(id);
    if (record === undefined || !isSameSecret(hashToken(token), record.sha256))
      return { reason: 'unknown', ...defined({ token: id }) };
    if (record.session !== undefined) return refused(record, 'the session of a browser is not a token');
    return this.#judgeRecord(record, at);
  }

  async #judgeSession(credential: Credential & { from: 'page' }, at: Date): Promise<Judged> {
    const record = await this.findSession(credential);
    if (record !== undefined) return this.#judgeRecord(record, at);
    const reason = credential.pageKey === undefined ? 'a session without the key of its page' : 'unknown session';
    return { reason, ...defined({ token: idOfToken(credential.pageKey ?? credential.cookies[0] ?? '') }) };
  }

  async #judgeRecord(record: TokenRecord, at: Date): Promise<Judged> {
    const { users } = this.#options;
    if (isExpired(record, at)) return refused(record, 'expired');
    if (record.session?.via === 'owner') return { caller: { kind: 'owner' } };
    if (record.session?.via === 'token') {
      const origin = await users.findToken(record.session.tokenId);
      if (origin === undefined || isExpired(origin, at)) return refused(record, 'the token of its sign-in has ended');
    }
    const user = await users.find(record.user);
    if (user === undefined) return refused(record, 'its user was removed');
    return { caller: { kind: 'user', user, tokenId: record.id } };
  }

  #now(): Date {
    return this.#options.now?.() ?? new Date();
  }

  async #recordSignIn(who: { user: string; token: string; from: string }, at: Date): Promise<void> {
    const key = `${who.token} ${who.from}`;
    if (at.getTime() - (this.#recorded.get(key) ?? -Infinity) < SIGN_IN_STEP_MS) return;
    if (this.#recorded.size > MAX_REMEMBERED) this.#recorded.clear();
    this.#recorded.set(key, at.getTime());
    await this.#options.log.append({ at: at.toISOString(), type: 'token.used', ...who });
  }
}

function refused({ user, id }: TokenRecord, reason: string): Judged {
  return { reason, user, token: id };
}

function isExpired({ expiresAt }: TokenRecord, now: Date): boolean {
  // Also if it cannot be read.
  return expiresAt !== undefined && !(Date.parse(expiresAt) > now.getTime());
}

const MAX_REMEMBERED = 10_000;
