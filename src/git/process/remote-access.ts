import type { GitOptions } from './git.ts';
import type { RemoteAccess } from '../repository/repo-url.ts';
import { defined } from '../../lib/guards.ts';

/** Credential helpers that return user name and password from the environment, which only this user can read. */
const HELPER = `!f() { test "$1" = get && printf 'username=%s\\npassword=%s\\n' "$HALO_GIT_USER" "$HALO_GIT_PASSWORD"; }; f`;
const USER_HELPER = `!f() { test "$1" = get && printf 'username=%s\\n' "$HALO_GIT_USER"; }; f`;

/**
 * Returns options to access a remote repository as the operator: with their keys, helpers and proxies. A login replaces
 * them for its server.
 */
export function remoteOptions({ login }: RemoteAccess = {}): GitOptions {
  const env = login && { HALO_GIT_USER: login.user, HALO_GIT_PASSWORD: login.password };
  return { trust: 'operator', protocols: 'https:http:ssh:git:file', ...defined({ env }) };
}

/** Returns arguments before the git command, to use with `remoteOptions` of the same access. Only the server of `address` gets the login. */
export function accessArgs(address: string, { login, pinned }: RemoteAccess = {}): string[] {
  const settings = [
    ...(login === undefined ? [] : loginSettings(address, login)),
    ...(pinned === undefined ? [] : [`http.curloptResolve=${pinned}`, 'http.followRedirects=false']),
  ];
  return settings.flatMap((setting) => ['-c', setting]);
}

function loginSettings(address: string, { password }: NonNullable<RemoteAccess['login']>): string[] {
  const asked = `credential.${new URL(address).origin}.helper`;
  // The operator's own helpers do not get the password: some of them store it.
  return password === '' ? [`${asked}=${USER_HELPER}`] : ['credential.helper=', `${asked}=${HELPER}`];
}

/** Returns a hint if git failed because a login was required, else undefined. */
export function findLoginHint(stderr: string): string | undefined {
  if (!/could not read (?:Username|Password)|Authentication failed|HTTP 40[13]|error: 40[13]/i.test(stderr))
    return undefined;
  return 'Its server requires a login, and halo stores no passwords: set up a git credential helper, a ~/.netrc or GIT_ASKPASS for the user who runs halo.';
}
