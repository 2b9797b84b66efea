import { homedir } from 'node:os';
import { join } from 'node:path';
import { HaloError } from '../../core/failure/errors.ts';
import { stripCredentials } from '../../core/text/address-credentials.ts';
import { defined } from '../../lib/guards.ts';
import { isConfidential, mayReceiveCredential } from '../../lib/network/credential-target.ts';
import type { Login, RemoteAccess } from '../repository/repo-url.ts';
import type { GitOptions } from './git.ts';

/** Credential helpers that return user name and password from the environment, which only this user can read. */
const HELPER = `!f() { test "$1" = get && printf 'username=%s\\npassword=%s\\n' "$HALO_GIT_USER" "$HALO_GIT_PASSWORD"; }; f`;
const USER_HELPER = `!f() { test "$1" = get && printf 'username=%s\\n' "$HALO_GIT_USER"; }; f`;

/** Without those of ~/.netrc, which curl sends to every port of a host, and of the program that git asks for them. */
const WITHOUT_STORED_LOGINS = { HOME: '/nonexistent', GIT_ASKPASS: '/bin/false', SSH_ASKPASS: '/bin/false' };

/** How git accesses a remote repository. */
interface RemoteCall {
  /** Arguments before the git command. */
  args: string[];
  options: GitOptions;
}

/**
 * Accesses a remote repository as the operator: with their keys, helpers and proxies. A login replaces them, for the server
 * of `address` only. Nothing is sent that other machines could read: see `mayReceiveCredential`. Throws CONFIG_INVALID.
 */
export function callRemote(address: string, { login, pinned }: RemoteAccess = {}): RemoteCall {
  const isOpen = isUnencrypted(address);
  const settings = [
    ...(isOpen ? [`include.path=${join(homedir(), '.gitconfig')}`, 'credential.helper='] : []),
    ...(login === undefined ? [] : loginSettings(address, login)),
    ...(pinned === undefined ? [] : [`http.curloptResolve=${pinned}`, 'http.followRedirects=false']),
  ];
  const env = {
    ...(isOpen && WITHOUT_STORED_LOGINS),
    ...(login && { HALO_GIT_USER: login.user, HALO_GIT_PASSWORD: login.password }),
  };
  return {
    args: settings.flatMap((setting) => ['-c', setting]),
    options: {
      trust: 'operator',
      protocols: 'https:http:ssh:git:file',
      ...defined({ env: Object.keys(env).length === 0 ? undefined : env }),
    },
  };
}

function loginSettings(address: string, { password }: Login): string[] {
  const { origin } = new URL(address);
  if (!mayReceiveCredential(address, origin))
    throw new HaloError('CONFIG_INVALID', `${stripCredentials(origin)} would get a login without encryption.`, {
      hint: 'Use its https address.',
    });
  const asked = `credential.${origin}.helper`;
  // The operator's own helpers do not get the password: some of them store it.
  return password === '' ? [`${asked}=${USER_HELPER}`] : ['credential.helper=', `${asked}=${HELPER}`];
}

/** Whether what git sends to an address can be read by other machines. */
function isUnencrypted(address: string): boolean {
  return /^http:/i.test(address) && URL.canParse(address) && !isConfidential(new URL(address));
}

/** Returns a hint if git failed because a login was required, else undefined. */
export function findLoginHint(stderr: string): string | undefined {
  if (!/could not read (?:Username|Password)|Authentication failed|HTTP 40[13]|error: 40[13]/i.test(stderr))
    return undefined;
  return 'Its server requires a login, which halo sends only over https, and stores no passwords: set up a git credential helper, a ~/.netrc or GIT_ASKPASS for the user who runs halo.';
}
