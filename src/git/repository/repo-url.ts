import { createHash } from 'node:crypto';
import { existsSync } from 'node:fs';
import { tryDecodeComponent, stripCredentials } from '../../core/text/address-credentials.ts';
import { HaloError } from '../../core/failure/errors.ts';
import { isConfidential } from '../../lib/network/credential-target.ts';

const SCHEME = /^(?:https?|ssh|git|file):\/\//i;
const SCP_LIKE = /^(?:[A-Za-z0-9._~-]+@)?[A-Za-z0-9][A-Za-z0-9.-]+:(?!\/\/)[^\s]+$/;

/** Whether a source names a remote repository. A local path that exists wins over an address. */
export function isUrl(source: string): boolean {
  if (SCHEME.test(source)) return true;
  return SCP_LIKE.test(source) && !existsSync(source);
}

/**
 * The name of the mirror of a repository, `[a-z0-9-]`: readable, and the same for the same source.
 * `source` is the real path of the common git directory, or an address (credentials in it do not count).
 */
export function mirrorName(source: string): string {
  const canonical = withoutCredentials(source).replace(/(?<!\/)\/+$/, '');
  const named = canonical.replace(/\/?\.git$/, '');
  const last = named.split(/[/:]/).at(-1) ?? '';
  const slug = last
    .normalize('NFKD')
    .toLowerCase()
    .replace(/[^a-z0-9]+/g, '-')
    .slice(0, 40)
    .replace(/^-+|-+$/g, '');
  const digest = createHash('sha256').update(canonical).digest('hex').slice(0, 8);
  return `${slug === '' ? 'repo' : slug}-${digest}`;
}

/** An address without user and password; paths come back unchanged. */
export function withoutCredentials(source: string): string {
  if (SCHEME.test(source)) return source.replace(/^([a-z]+:\/\/)[^/]*@/i, '$1');
  return source.startsWith('/') ? source : source.replace(/^[^@/:]+@(?=[^/]+:)/, '');
}

/** The address that halo stores and passes to git, and the credentials it came with, which are never stored. */
export interface RemoteSource {
  /** Without a password; over ssh with the user name, which is part of the address there. */
  address: string;
  login: Login | undefined;
}

export interface Login {
  user: string;
  password: string;
}

/** How the server of an address is reached. */
export interface RemoteAccess {
  login?: Login | undefined;
  /** `host:port:address,…`: only there, and no redirect is followed. */
  pinned?: string | undefined;
}

/** Takes the credentials out of an address. Throws USAGE for one that cannot be read. */
export function parseRemote(source: string): RemoteSource {
  if (!/^https?:/i.test(source)) return { address: stripPassword(source), login: undefined };
  const url = URL.canParse(source) ? new URL(source) : undefined;
  const login = url && { user: tryDecodeComponent(url.username), password: tryDecodeComponent(url.password) };
  // A line break would end the answer to git in which they are given.
  if (login === undefined || /[\0\r\n]/.test(login.user + login.password)) {
    throw new HaloError('USAGE', `${stripCredentials(source)} is not the address of a repository.`, {
      hint: 'Write it like https://git.example.com/team/repo.git; leave out the password and use a credential helper of git, or write @, : and / in it as %40, %3A and %2F.',
    });
  }
  const given = login.user !== '' || login.password !== '';
  if (given && !isConfidential(new URL(source))) {
    throw new HaloError('USAGE', `${stripCredentials(source)} would get its login without encryption.`, {
      hint: 'Use the https address of the repository, or leave out user name and password.',
    });
  }
  return { address: stripCredentials(source), login: given ? login : undefined };
}

function stripPassword(source: string): string {
  if (/^ssh:/i.test(source)) return source.replace(/^(ssh:\/\/[^/?#:@]*):[^/?#]*@/i, '$1@');
  return stripCredentials(source);
}
