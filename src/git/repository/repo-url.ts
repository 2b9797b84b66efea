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

/** Hexadecimal digits of the digest in the name of a mirror: 128 bits, too many to find two sources with one name. */
const DIGITS = 32;

/**
 * The name of the mirror of a repository, `[a-z0-9-]`: readable, and the same for all spellings of a source.
 * `source` is the real path of the common git directory, or an address.
 */
export function mirrorName(source: string): string {
  const canonical = canonicalSource(source);
  const named = canonical.replace(/\/?\.git$/, '');
  const last = named.split(/[/:]/).at(-1) ?? '';
  const slug = last
    .normalize('NFKD')
    .toLowerCase()
    .replace(/[^a-z0-9]+/g, '-')
    .slice(0, 40)
    .replace(/^-+|-+$/g, '');
  const digest = createHash('sha256').update(canonical).digest('hex').slice(0, DIGITS);
  return `${slug === '' ? 'repo' : slug}-${digest}`;
}

/** Servers that ignore the case of paths. */
const CASELESS = ['github.com', 'gitlab.com', 'bitbucket.org', 'codeberg.org'];
const DEFAULT_PORTS: Record<string, string> = { 'ssh:': '22', 'git:': '9418' };

/**
 * The one spelling of a source that all others lead to: without user, password, default port, repeated and final slashes, the
 * ending `.git`, and escapes that mean the same as their character. Paths of this machine stay as they are.
 */
export function canonicalSource(source: string): string {
  const plain = withoutCredentials(source);
  if (SCHEME.test(plain) && !/^file:/i.test(plain) && URL.canParse(plain)) {
    const { protocol, hostname, port, pathname, search, hash } = new URL(plain);
    const host = hostname.toLowerCase().replace(/\.$/, '');
    const own = port === '' || port === DEFAULT_PORTS[protocol] ? '' : `:${port}`;
    return `${protocol}//${host}${own}${canonicalPath(pathname, host)}${search}${hash}`;
  }
  const [, host, path] = plain.startsWith('/') || SCHEME.test(plain) ? [] : (/^([^/:]+):(.*)$/s.exec(plain) ?? []);
  if (host === undefined || path === undefined) return plain.replace(/(?<!\/)\/+$/, '');
  return `${host.toLowerCase()}:${canonicalPath(path, host.toLowerCase())}`;
}

function canonicalPath(path: string, host: string): string {
  const plain = path
    .replace(/%([0-9a-f]{2})/gi, (escape, hex: string) => {
      const character = String.fromCharCode(Number.parseInt(hex, 16));
      return /[\w.~-]/.test(character) ? character : escape.toUpperCase();
    })
    .replace(/\/{2,}/g, '/')
    .replace(/\/+$/, '')
    .replace(/\.git$/, '');
  return CASELESS.includes(host) ? plain.toLowerCase() : plain;
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
  assertCanonical(source);
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

/** An address whose meaning depends on the server has no canonical form: it could name one repository in many ways. */
function assertCanonical(source: string): void {
  if (!SCHEME.test(source) || /^file:/i.test(source)) return;
  const path = /^[a-z]+:\/\/(?:[^/?#]*@)?[^/?#]*(.*)$/is.exec(source)?.[1] ?? '';
  // A backslash ends the host for some programs only, and others leave blanks out.
  // oxlint-disable-next-line no-control-regex -- no program reads these as part of a name
  const isReadAlike = !/[\\\0-\x20\x7f]/.test(source);
  if (isReadAlike && !/[?#]|%(?:2e|2f|5c|25|0.|1.|20|23|3f|7f)|(?:^|\/)\.{1,2}(?:\/|$)/i.test(path)) return;
  throw new HaloError('USAGE', `${stripCredentials(source)} is not the plain address of a repository.`, {
    hint: 'Leave out query, fragment, blanks, backslashes, `.` and `..`, and escapes of these characters.',
  });
}

function stripPassword(source: string): string {
  if (/^ssh:/i.test(source)) return source.replace(/^(ssh:\/\/[^/?#:@]*):[^/?#]*@/i, '$1@');
  return stripCredentials(source);
}
