import type { SignedInBy, TokenRecord, UserFiles } from '../../store/access/user-files.ts';
import type { AccessLog } from '../../store/access/access-log.ts';
import { hashOwnerCookie, hashToken, makeSessionSecrets, type SessionSecrets } from '../access/access-token.ts';
import type { Caller } from '../access/authenticate.ts';
import { TOKEN_HOLDER } from '../submit/user-name.ts';

interface SessionsOptions {
  /** The token of the server. */
  ownerToken: string;
  users: UserFiles;
  log: AccessLog;
  /** How long a session is valid, in ms. */
  lifetimeMs: number;
  now?: () => Date;
}

/** The secrets of a new session, which are not stored. */
export interface StartedSession extends SessionSecrets {
  lifetimeMs: number;
}

/** Sessions of one user at a time: another one ends the oldest. */
export const MAX_SESSIONS = 20;

/** The sessions of browsers. Each is a token of its user, listed and revoked like the others. */
export class Sessions {
  readonly #options: SessionsOptions;

  constructor(options: SessionsOptions) {
    this.#options = options;
  }

  /** Starts a session for who signed in with a token. Throws DISK_FAILED. */
  async startWithToken(caller: Caller, from: string): Promise<StartedSession> {
    return caller.kind === 'user'
      ? this.startFor(caller.user.name, { via: 'token', tokenId: caller.tokenId }, from)
      : this.startFor(TOKEN_HOLDER, { via: 'owner' }, from);
  }

  /** Starts a session of a user. Throws DISK_FAILED. */
  async startFor(user: string, by: SignedInBy, from: string): Promise<StartedSession> {
    const { users, log, lifetimeMs, ownerToken } = this.#options;
    const now = this.#now();
    const secrets = makeSessionSecrets();
    const { id, cookie, pageKey } = secrets;
    const sha256 = by.via === 'owner' ? hashOwnerCookie(cookie, ownerToken) : hashToken(cookie);
    const record = { id, user, sha256, createdAt: now.toISOString(), createdBy: user };
    const expiresAt = new Date(now.getTime() + lifetimeMs).toISOString();
    await users.exclusively(async () => {
      await this.#removeOld(user, now);
      await users.writeToken({ ...record, expiresAt, session: { ...by, pageSha256: hashToken(pageKey) } });
    });
    await log.append({ at: now.toISOString(), type: 'session.started', user, token: id, from, reason: by.via });
    return { ...secrets, lifetimeMs };
  }

  /** Ends a session. Throws DISK_FAILED. */
  async end({ id, user }: TokenRecord, from: string): Promise<void> {
    const { users, log } = this.#options;
    await users.removeToken(id);
    await log.append({ at: this.#now().toISOString(), type: 'session.ended', user, token: id, from });
  }

  /** Records that a sign-in through the provider was refused, and why. Throws DISK_FAILED. */
  async recordRefused(reason: string, from: string): Promise<void> {
    const at = this.#now().toISOString();
    await this.#options.log.append({ at, type: 'session.refused', from, reason });
  }

  /** Removes sessions that have ended, and the oldest ones if there is no place for another one. */
  async #removeOld(user: string, now: Date): Promise<void> {
    const { users } = this.#options;
    const sessions = (await users.tokensOf(user)).filter(({ session }) => session !== undefined);
    const hasEnded = ({ expiresAt }: TokenRecord) => expiresAt !== undefined && Date.parse(expiresAt) <= now.getTime();
    const valid = sessions.filter((session) => !hasEnded(session));
    const tooMany = valid.slice(0, Math.max(0, valid.length - MAX_SESSIONS + 1));
    for (const { id } of [...sessions.filter(hasEnded), ...tooMany]) await users.removeToken(id);
  }

  #now(): Date {
    return this.#options.now?.() ?? new Date();
  }
}
