import { rm, stat, utimes } from 'node:fs/promises';
import { join } from 'node:path';
import { ROLES, type User } from '../../core/access/access.ts';
import { HaloError } from '../../core/failure/errors.ts';
import { ignore } from '../../lib/async.ts';
import { createFolders, readFolder, readIfExists, writeAtomic } from '../../lib/fs.ts';
import { isRecord } from '../../lib/guards.ts';
import { withLock } from '../../lib/lock.ts';
import { tryParseJson } from '../../lib/parse-json.ts';
import { withDiskErrors } from '../disk-errors.ts';

/** A person at an OpenID Connect provider. Unlike names and addresses, a subject is never given to somebody else. */
export interface ProviderAccount {
  issuer: string;
  subject: string;
}

/** A user, and who added them. */
export interface KnownUser extends User {
  /** ISO 8601 */
  createdAt: string;
  createdBy: string;
  /** Who signs in as this user; absent before the first sign-in through a provider. */
  identity?: ProviderAccount | undefined;
}

/** A token of a user. The token itself is shown once, when it is made, and not stored. */
export interface TokenRecord {
  /** Part of the token, so that its owner can recognize it. */
  id: string;
  user: string;
  /** SHA-256 of the token, hexadecimal; for a session of the owner, an HMAC with the token of the server. */
  sha256: string;
  /** ISO 8601 */
  createdAt: string;
  createdBy: string;
  /** ISO 8601; absent: it does not expire. */
  expiresAt?: string | undefined;
  /** It is the session of a browser. */
  session?: BrowserSession | undefined;
}

/**
 * How a browser signed in: through the provider; with a token, which the session does not outlive; or with the token of the
 * server (`owner`).
 */
export type SignedInBy = { via: 'oidc' } | { via: 'token'; tokenId: string } | { via: 'owner' };

/** The session of a browser; the token of its record is in the cookie. */
export type BrowserSession = SignedInBy & {
  /** SHA-256 of the key of its pages, hexadecimal. */
  pageSha256: string;
};

/** A token, and when it was used last, to the minute, ISO 8601. */
export interface UsedToken extends TokenRecord {
  usedAt?: string | undefined;
}

const TOKEN_ID = /^[0-9a-z]{4,32}$/;
const USER_FILE = /^([\w.@+-]{1,64})\.json$/;
const USE_STEP_MS = 60_000;

/**
 * The users of one HALO_HOME and their tokens: a file each, so that a removed token or user is refused from the next
 * request on. Every function may throw DISK_FAILED, also for a damaged file.
 */
export class UserFiles {
  readonly #users: string;
  readonly #tokens: string;

  constructor(home: string) {
    this.#users = join(home, 'users');
    this.#tokens = join(home, 'user-tokens');
  }

  /** Runs `work` while no other process changes users. */
  async exclusively<T>(work: () => Promise<T>): Promise<T> {
    return withDiskErrors(this.#users, async () => {
      await createFolders(this.#users, 0o700);
      await createFolders(this.#tokens, 0o700);
      return withLock(join(this.#users, '.lock'), work);
    });
  }

  async find(name: string): Promise<KnownUser | undefined> {
    return USER_FILE.test(`${name}.json`) ? this.#read(join(this.#users, `${name}.json`), isKnownUser) : undefined;
  }

  /** Sorted by name. */
  async list(): Promise<KnownUser[]> {
    const names = (await namesIn(this.#users)).flatMap((file) => USER_FILE.exec(file)?.[1] ?? []);
    const found = await Promise.all(names.sort().map((name) => this.find(name)));
    return found.filter((user) => user !== undefined);
  }

  /** Durable. */
  async write(user: KnownUser): Promise<void> {
    await writeAtomic(join(this.#users, `${user.name}.json`), JSON.stringify({ v: 1, ...user }), true);
  }

  /** Removes the user and all of their tokens, these first. The name is remembered: runs belong to it. */
  async remove(name: string): Promise<void> {
    await writeAtomic(join(this.#users, `${name}.removed`), '', true);
    await this.removeTokens(name);
    await rm(join(this.#users, `${name}.json`), { force: true });
  }

  async removeTokens(name: string): Promise<void> {
    for (const { id } of await this.tokensOf(name)) await this.removeToken(id);
  }

  /** Whether a user with this name was removed. */
  async wasRemoved(name: string): Promise<boolean> {
    return (await namesIn(this.#users)).includes(`${name}.removed`);
  }

  /** Lets another user have the name. */
  async release(name: string): Promise<void> {
    await rm(join(this.#users, `${name}.removed`), { force: true });
  }

  async findToken(id: string): Promise<TokenRecord | undefined> {
    return TOKEN_ID.test(id) ? this.#read(join(this.#tokens, `${id}.json`), isTokenRecord) : undefined;
  }

  /** The tokens of a user, the oldest first. */
  async tokensOf(name: string): Promise<UsedToken[]> {
    const ids = (await namesIn(this.#tokens)).flatMap((file) => /^(\w+)\.json$/.exec(file)?.[1] ?? []);
    // A damaged file says nothing about its user, and must not keep others from being managed.
    const found = await Promise.all(ids.map((id) => this.findToken(id).catch(() => undefined)));
    const own = found.filter((token) => token?.user === name) as TokenRecord[];
    const used = await Promise.all(own.map(async (token) => ({ ...token, usedAt: await this.#usedAt(token.id) })));
    return used.sort((a, b) => (a.createdAt < b.createdAt ? -1 : 1));
  }

  /** Durable. */
  async writeToken(token: TokenRecord): Promise<void> {
    await writeAtomic(join(this.#tokens, `${token.id}.json`), JSON.stringify({ v: 1, ...token }), true);
  }

  async removeToken(id: string): Promise<void> {
    for (const end of ['json', 'used']) await rm(join(this.#tokens, `${id}.${end}`), { force: true });
  }

  /** Records that a token was used at `now`, if possible: a full disk locks no user out. */
  async markUsed(id: string, now: Date): Promise<void> {
    await this.#touch(id, now).catch(ignore);
  }

  async #touch(id: string, now: Date): Promise<void> {
    const path = join(this.#tokens, `${id}.used`);
    const last = (await stat(path).catch(() => undefined))?.mtimeMs ?? 0;
    if (now.getTime() - last < USE_STEP_MS) return;
    if (last === 0) await writeAtomic(path, '');
    await utimes(path, now, now);
  }

  async #usedAt(id: string): Promise<string | undefined> {
    const facts = await stat(join(this.#tokens, `${id}.used`)).catch(() => undefined);
    return facts?.mtime.toISOString();
  }

  async #read<T>(path: string, isValid: (value: unknown) => value is T): Promise<T | undefined> {
    const text = await withDiskErrors(path, () => readIfExists(path));
    if (text === undefined) return undefined;
    const value = tryParseJson(text);
    if (isValid(value)) return value;
    throw new HaloError('DISK_FAILED', `${path} is damaged.`, {
      hint: 'Restore it from a backup, or remove it and add the user or token again with `halo user`.',
    });
  }
}

function isKnownUser(value: unknown): value is KnownUser {
  if (!isRecord(value)) return false;
  const { name, role, repositories, createdAt, createdBy, identity } = value;
  const isList = Array.isArray(repositories) && repositories.every((each) => typeof each === 'string');
  const isRole = (ROLES as readonly unknown[]).includes(role);
  const isKnown = identity === undefined || (isRecord(identity) && isText(identity.issuer) && isText(identity.subject));
  return isRole && [name, createdAt, createdBy].every(isText) && (repositories === undefined || isList) && isKnown;
}

function isTokenRecord(value: unknown): value is TokenRecord {
  if (!isRecord(value)) return false;
  const { id, user, sha256, createdAt, createdBy, expiresAt, session } = value;
  const isDated = expiresAt === undefined || isText(expiresAt);
  return (
    [id, user, sha256, createdAt, createdBy].every(isText) && isDated && (session === undefined || isSession(session))
  );
}

function isSession(value: unknown): value is BrowserSession {
  if (!isRecord(value) || !isText(value.pageSha256)) return false;
  return value.via === 'oidc' || value.via === 'owner' || (value.via === 'token' && isText(value.tokenId));
}

function isText(value: unknown): boolean {
  return typeof value === 'string';
}

function namesIn(dir: string): Promise<string[]> {
  return withDiskErrors(dir, () => readFolder(dir));
}
