import type { Role, User } from '../../core/access/access.ts';
import { HaloError } from '../../core/failure/errors.ts';
import { defined } from '../../lib/guards.ts';
import type { AccessEvent } from '../../core/access/access-event.ts';
import { AccessLog } from '../../store/access/access-log.ts';
import {
  UserFiles,
  type ProviderAccount,
  type KnownUser,
  type BrowserSession,
  type TokenRecord,
  type UsedToken,
} from '../../store/access/user-files.ts';
import { TOKEN_HOLDER, USER_NAME } from '../submit/user-name.ts';
import { hashToken, idOfToken, makeAccessToken } from './access-token.ts';

/** A user with their tokens, as shown to administrators. */
export interface UserView extends KnownUser {
  tokens: TokenView[];
}

/** A token as shown to administrators. */
export interface TokenView extends Omit<UsedToken, 'sha256' | 'user' | 'session'> {
  /** The token is the session of a browser, which signed in through the provider or with a token. */
  session?: Exclude<BrowserSession['via'], 'owner'>;
}

/** A new token; it cannot be shown again. */
export interface CreatedToken {
  user: string;
  id: string;
  token: string;
  expiresAt?: string | undefined;
}

interface UserChange {
  role?: Role | undefined;
  /** `null` removes the restriction. */
  repositories?: readonly string[] | null | undefined;
}

/** Who changes users, and when. */
interface ChangedBy {
  by: string;
  now: Date;
}

/** Changes users and their tokens, and records each change in the access log. */
export class Users {
  readonly #files: UserFiles;
  readonly #log: AccessLog;

  constructor(home: string) {
    this.#files = new UserFiles(home);
    this.#log = new AccessLog(home);
  }

  /** All users, by name. */
  async list(): Promise<UserView[]> {
    return Promise.all((await this.#files.list()).map((user) => this.#view(user)));
  }

  /** A user by name. */
  async find(name: string): Promise<KnownUser | undefined> {
    return USER_NAME.test(name) ? this.#files.find(name) : undefined;
  }

  /** Binds a user to a person at a provider. Throws USER_UNKNOWN. */
  async identify(name: string, identity: ProviderAccount, { by, now }: ChangedBy): Promise<void> {
    await this.#files.exclusively(async () => {
      await this.#files.write({ ...(await this.#existing(name)), identity });
      await this.#record({ type: 'user.changed', user: name, reason: `signs in by ${identity.issuer}` }, { by, now });
    });
  }

  /** Whether a user with this name was removed. */
  async wasRemoved(name: string): Promise<boolean> {
    return this.#files.wasRemoved(name);
  }

  /** Adds a user without a token. Throws CONFLICT if the name exists, or existed unless it is the same person `again`, and USAGE for a name that journals cannot contain. */
  async add(
    { name, role, repositories, again = false }: User & { again?: boolean | undefined },
    { by, now }: ChangedBy,
  ): Promise<UserView> {
    if (!USER_NAME.test(name))
      throw new HaloError('USAGE', `${JSON.stringify(name)} is not a valid user name.`, {
        hint: 'Use up to 64 letters, digits and the characters . @ + - _.',
      });
    if (name === TOKEN_HOLDER)
      throw new HaloError('USAGE', `Journals use the name ${name} for requests with the token of the server.`, {
        hint: 'Choose another name.',
      });
    return this.#files.exclusively(async () => {
      if ((await this.#files.find(name)) !== undefined)
        throw new HaloError('CONFLICT', `The user ${name} already exists.`, {
          hint: `Change it with \`halo user set ${name}\`, or create a token with \`halo user token ${name}\`.`,
        });
      if (!again && (await this.#files.wasRemoved(name)))
        throw new HaloError(
          'CONFLICT',
          `A user ${name} was removed: runs with this name would belong to the new user.`,
          {
            hint: `Choose another name, or pass --again if it is the same person.`,
          },
        );
      // Tokens that an interrupted removal left must not open anything.
      await this.#files.removeTokens(name);
      await this.#files.release(name);
      const user = { name, role, ...defined({ repositories }), createdAt: now.toISOString(), createdBy: by };
      await this.#files.write(user);
      await this.#record({ type: 'user.added', user: name, reason: role }, { by, now });
      return this.#view(user);
    });
  }

  /** Changes role or repositories, which apply from the next request on. Throws USER_UNKNOWN. */
  async change(name: string, { role, repositories }: UserChange, { by, now }: ChangedBy): Promise<UserView> {
    return this.#files.exclusively(async () => {
      const { repositories: before, ...user } = await this.#existing(name);
      const after = repositories === null ? undefined : (repositories ?? before);
      const changed: KnownUser = { ...user, ...defined({ role }), ...defined({ repositories: after }) };
      await this.#files.write(changed);
      await this.#record({ type: 'user.changed', user: name, reason: changed.role }, { by, now });
      return this.#view(changed);
    });
  }

  /** Removes a user; all of their tokens stop working immediately. Throws USER_UNKNOWN. */
  async remove(name: string, { by, now }: ChangedBy): Promise<void> {
    return this.#files.exclusively(async () => {
      await this.#existing(name);
      await this.#files.remove(name);
      await this.#record({ type: 'user.removed', user: name }, { by, now });
    });
  }

  /** Creates a token. Throws USER_UNKNOWN. */
  async createToken(name: string, expiresAt: string | undefined, { by, now }: ChangedBy): Promise<CreatedToken> {
    return this.#files.exclusively(async () => {
      await this.#existing(name);
      const { id, token } = makeAccessToken();
      const made = { createdAt: now.toISOString(), createdBy: by, ...defined({ expiresAt }) };
      await this.#files.writeToken({ id, user: name, sha256: hashToken(token), ...made });
      await this.#record({ type: 'token.created', user: name, token: id }, { by, now });
      return { user: name, id, token, ...defined({ expiresAt }) };
    });
  }

  /** Revokes a token by its id, with immediate effect. Throws USER_UNKNOWN if there is none. */
  async revokeToken(id: string, { by, now }: ChangedBy): Promise<TokenRecord> {
    return this.#files.exclusively(async () => {
      const found = await this.#files.findToken(idOfToken(id) ?? id);
      if (found === undefined)
        throw new HaloError('USER_UNKNOWN', `There is no token with the id ${JSON.stringify(id.slice(0, 12))}.`, {
          hint: 'The id is the part between `halo_` and the second `_`; `halo user ls` lists all ids.',
        });
      await this.#files.removeToken(found.id);
      await this.#record({ type: 'token.revoked', user: found.user, token: found.id }, { by, now });
      return found;
    });
  }

  async #existing(name: string): Promise<KnownUser> {
    const user = await this.#files.find(name);
    if (user !== undefined) return user;
    throw new HaloError('USER_UNKNOWN', `There is no user ${name}.`, {
      hint: 'Run `halo user ls` to list all users.',
    });
  }

  async #view(user: KnownUser): Promise<UserView> {
    const tokens = await this.#files.tokensOf(user.name);
    return {
      ...user,
      tokens: tokens.map(({ id, createdAt, createdBy, expiresAt, usedAt, session }) => ({
        ...{ id, createdAt, createdBy },
        // The owner is not a user.
        ...defined({ expiresAt, usedAt, session: session?.via === 'owner' ? undefined : session?.via }),
      })),
    };
  }

  #record(event: Omit<AccessEvent, 'at' | 'by'>, { by, now }: ChangedBy): Promise<void> {
    return this.#log.append({ at: now.toISOString(), by, ...event });
  }
}
