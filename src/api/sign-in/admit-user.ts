import type { OidcSettings } from '../../config/config.ts';
import { ROLES, type Role } from '../../core/access/access.ts';
import { isRecord } from '../../lib/guards.ts';
import type { KnownUser } from '../../store/access/user-files.ts';
import type { Users } from '../access/users.ts';
import { USER_NAME } from '../submit/user-name.ts';
import { signInFailed, type Claims } from './oidc-provider.ts';

/** Who changes users at a sign-in, in the access log. */
const BY = 'oidc';

/**
 * The user as whom a person signs in. Adds and changes users as the settings say. Throws SIGN_IN_FAILED, with a sentence
 * for the person, and DISK_FAILED.
 */
export async function admitUser(claims: Claims, settings: OidcSettings, users: Users, now: Date): Promise<string> {
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
