import type { GitOptions } from './git.ts';
import type { Access } from '../repository/repo-url.ts';

/** Answers git's question for user name and password from the environment, which only this user can read. */
const HELPER = `!f() { test "$1" = get && printf 'username=%s\\npassword=%s\\n' "$HALO_GIT_USER" "$HALO_GIT_PASSWORD"; }; f`;
const USER_HELPER = `!f() { test "$1" = get && printf 'username=%s\\n' "$HALO_GIT_USER"; }; f`;

/**
 * A repository behind an address is reached as the operator would: their keys, helpers and proxies. With a login, that
 * is what its server is answered.
 */
export function remoteOptions({ login }: Access = {}): GitOptions {
  const env = login && { HALO_GIT_USER: login.user, HALO_GIT_PASSWORD: login.password };
  return { trust: 'operator', protocols: 'https:http:ssh:git:file', ...(env === undefined ? {} : { env }) };
}

/** What goes before the command of git for `remoteOptions` of the same access: the server of `address` alone gets the login. */
export function accessArgs(address: string, { login, pinned }: Access = {}): string[] {
  const settings = [
    ...(login === undefined ? [] : loginSettings(address, login)),
    ...(pinned === undefined ? [] : [`http.curloptResolve=${pinned}`, 'http.followRedirects=false']),
  ];
  return settings.flatMap((setting) => ['-c', setting]);
}

function loginSettings(address: string, { password }: NonNullable<Access['login']>): string[] {
  const asked = `credential.${new URL(address).origin}.helper`;
  // A password is not handed to the operator's own helpers, some of which keep what they see.
  return password === '' ? [`${asked}=${USER_HELPER}`] : ['credential.helper=', `${asked}=${HELPER}`];
}

/** What to do when a server wanted a user name or password that nobody knew; undefined when it was something else. */
export function asksForLogin(stderr: string): string | undefined {
  if (!/could not read (?:Username|Password)|Authentication failed|HTTP 40[13]|error: 40[13]/i.test(stderr))
    return undefined;
  return 'Its server wants a login, and halo keeps no password of an address: set up a credential helper of git, a ~/.netrc or GIT_ASKPASS for the user who runs halo.';
}
