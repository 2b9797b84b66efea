import type { OidcSettings } from '../../config/config.ts';
import { HaloError } from '../../core/failure/errors.ts';
import { AccessLog } from '../../store/access/access-log.ts';
import { UserFiles, type KnownUser } from '../../store/access/user-files.ts';
import type { Authenticator } from '../access/authenticate.ts';
import { Users } from '../access/users.ts';
import type { RequestLimits } from '../http/request-limits.ts';
import { signInFailed, type OidcProvider, type Claims } from './oidc-provider.ts';
import { Sessions } from './sessions.ts';
import type { SignIn } from './sign-in-routes.ts';
import { ROLES, type Role } from '../../core/access/access.ts';
import { isRecord } from '../../lib/guards.ts';
import { USER_NAME } from '../submit/user-name.ts';

/** How long a browser stays signed in where no provider is configured, in ms. */
const DEFAULT_SESSION_MS = 12 * 60 * 60_000;

interface SignInParts {
  /** The token of the server. */
  ownerToken: string;
  home: string;
  authenticator: Authenticator;
  limits: RequestLimits;
  oidc: OidcSettings | undefined;
  provider: OidcProvider | undefined;
}

/** Signs browsers in: with a token, or through the provider. */
export function openSignIn({ ownerToken, home, authenticator, limits, oidc, provider }: SignInParts): SignIn {
  const lifetimeMs = oidc?.sessionMs ?? DEFAULT_SESSION_MS;
  const sessions = new Sessions({ ownerToken, users: new UserFiles(home), log: new AccessLog(home), lifetimeMs });
  const users = new Users(home);
  return {
    provider: provider === undefined || oidc === undefined ? undefined : new URL(oidc.issuer).host,
    async begin() {
      if (provider === undefined) throw signInFailed('This server has no sign-in through a provider.');
      return provider.begin();
    },
    async finish(query, pending, request) {
      if (provider === undefined || oidc === undefined)
        throw signInFailed('This server has no sign-in through a provider.');
      // Each one makes the server send a request to the provider.
      await limits.countSignIn(request);
      try {
        const name = await admitUser(await provider.finish(query, pending), oidc, users, new Date());
        return await sessions.startFor(name, { via: 'oidc' }, request.ip);
      } catch (error) {
        if (error instanceof HaloError && error.code === 'SIGN_IN_FAILED') {
          await limits.countRefused(request);
          await sessions.recordRefused(error.message, request.ip);
        }
        throw error;
      }
    },
    async withToken(caller, request) {
      // The owner is limited by the number of sessions alone.
      if (caller.kind === 'user') await limits.countSignIn(request, caller.user.name);
      return sessions.startWithToken(caller, request.ip);
    },
    async end(credential, from) {
      const session = await authenticator.findSession(credential);
      if (session !== undefined) await sessions.end(session, from);
    },
  };
}

/** Who changes users at a sign-in, in the access log. */
const BY = 'oidc';

/**
 * The user as whom a person signs in. Adds and changes users as the settings say. Throws SIGN_IN_FAILED, with a sentence
 * for the person, and DISK_FAILED.
 */
async function admitUser(claims: Claims, settings: OidcSettings, users: Users, now: Date): Promise<string> {
  const name = nameOf(claims, settings);
  const known = await users.find(name);
  const role = roleOf(claims, settings, known);
  if (role === undefined)
    throw signInFailed(
      `${name} is not a user of this server. Ask an administrator: \`halo user add ${name} --role viewer\`.`,
    );
  const identity = { issuer: settings.issuer, subject: claims.sub };
  const owner = known?.identity;
  if (owner !== undefined && (owner.issuer !== identity.issuer || owner.subject !== identity.subject))
    throw signInFailed(
      `The user ${name} belongs to another account of the provider. An administrator can remove and add the user again.`,
    );
  // A person who was removed does not come back by signing in.
  if (known === undefined && (await users.wasRemoved(name)))
    throw signInFailed(
      `The user ${name} was removed. An administrator can add the user again: \`halo user add --again\`.`,
    );
  if (known === undefined) await users.add({ name, role }, { by: BY, now });
  else if (known.role !== role) await users.change(name, { role }, { by: BY, now });
  if (owner === undefined) await users.identify(name, identity, { by: BY, now });
  return name;
}

function nameOf(claims: Claims, { userClaim }: OidcSettings): string {
  const value = claims[userClaim];
  if (typeof value !== 'string' || value === '')
    throw signInFailed(`The provider says nothing about \`${userClaim}\`, which is the name of a user here.`);
  // Otherwise, an account with the address of another person would sign in as that person.
  if (userClaim === 'email' && claims.email_verified !== true)
    throw signInFailed(`The provider has not verified the address ${value.slice(0, 64)}.`);
  // Before the conversion: the Kelvin sign becomes a k.
  if (!USER_NAME.test(value))
    throw signInFailed(
      `${JSON.stringify(value.slice(0, 64))} cannot be the name of a user: it may have 64 letters, digits and . @ + - _.`,
    );
  return userClaim === 'email' ? value.toLowerCase() : value;
}

/** With roles by group, the provider decides at each sign-in; otherwise a known user keeps the role. */
function roleOf(
  claims: Claims,
  { groupsClaim, roles, newUsers }: OidcSettings,
  known: KnownUser | undefined,
): Role | undefined {
  if (Object.keys(roles).length === 0) return known?.role ?? newUsers;
  const groups = groupsOf(claims[groupsClaim]);
  const granted = groups.flatMap((group) => (Object.hasOwn(roles, group) ? (roles[group] ?? []) : []));
  return ROLES.findLast((role) => granted.includes(role)) ?? newUsers;
}

/** A list of names; some providers send one name, or objects with a name. */
function groupsOf(value: unknown): string[] {
  return [value ?? []].flat().flatMap((each): string[] => {
    if (typeof each === 'string') return [each];
    return isRecord(each) && typeof each.name === 'string' ? [each.name] : [];
  });
}
