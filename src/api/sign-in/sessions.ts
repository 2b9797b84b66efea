import type { BrowserSession, UserFiles } from '../../store/access/user-files.ts';
import type { AccessLog } from '../../store/access/access-log.ts';
import { defined } from '../../lib/guards.ts';
import { hashToken, idOfToken, makeAccessToken, makeOwnerSession } from '../access/access-token.ts';
import type { Caller } from '../access/authenticate.ts';

export interface SessionsOptions {
  /** The token of the server. */
  ownerToken: string;
  users: UserFiles;
  log: AccessLog;
  /** How long a session is valid, in ms. */
  lifetimeMs: number;
  now?: () => Date;
}

/** A session of a browser: a token in a cookie. */
export interface StartedSession {
  token: string;
  lifetimeMs: number;
}

/** The sessions of browsers. Each is a token of its user, listed and revoked like the others. */
export class Sessions {
  readonly #options: SessionsOptions;

  constructor(options: SessionsOptions) {
    this.#options = options;
  }

  /** Starts a session for who signed in with a token. Throws DISK_FAILED. */
  async startWithToken(caller: Caller, from: string): Promise<StartedSession> {
    if (caller.kind === 'user') return this.startFor(caller.user.name, { via: 'token', tokenId: caller.tokenId }, from);
    const { ownerToken, lifetimeMs } = this.#options;
    return { token: makeOwnerSession(ownerToken, new Date(this.#now().getTime() + lifetimeMs)), lifetimeMs };
  }

  /** Starts a session of a user. Throws DISK_FAILED. */
  async startFor(user: string, session: BrowserSession, from: string): Promise<StartedSession> {
    const { users, log, lifetimeMs } = this.#options;
    const now = this.#now();
    const { id, token } = makeAccessToken();
    const expiresAt = new Date(now.getTime() + lifetimeMs).toISOString();
    const record = { id, user, sha256: hashToken(token), createdAt: now.toISOString(), createdBy: user };
    await users.exclusively(async () => {
      await this.#removeEnded(user, now);
      await users.writeToken({ ...record, expiresAt, session });
    });
    await log.append({ at: now.toISOString(), type: 'session.started', user, token: id, from, reason: session.via });
    return { token, lifetimeMs };
  }

  /** Ends the session of a token; does nothing for other tokens. Throws DISK_FAILED. */
  async end(token: string, from: string): Promise<void> {
    const { users, log } = this.#options;
    const id = idOfToken(token);
    const record = id === undefined ? undefined : await users.findToken(id);
    if (record?.session === undefined || record.sha256 !== hashToken(token)) return;
    await users.removeToken(record.id);
    const at = this.#now().toISOString();
    await log.append({ at, type: 'session.ended', user: record.user, token: record.id, from });
  }

  /** Records that a sign-in through the provider was refused, and why. Throws DISK_FAILED. */
  async recordRefused(reason: string, from: string, user?: string): Promise<void> {
    const at = this.#now().toISOString();
    await this.#options.log.append({ at, type: 'session.refused', ...defined({ user }), from, reason });
  }

  /** A sign-in each day would otherwise fill the list of tokens. */
  async #removeEnded(user: string, now: Date): Promise<void> {
    const { users } = this.#options;
    const ended = (await users.tokensOf(user)).filter(
      ({ session, expiresAt }) =>
        session !== undefined && expiresAt !== undefined && Date.parse(expiresAt) <= now.getTime(),
    );
    for (const { id } of ended) await users.removeToken(id);
  }

  #now(): Date {
    return this.#options.now?.() ?? new Date();
  }
}
