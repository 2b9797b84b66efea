import { createHash } from 'node:crypto';
import { existsSync } from 'node:fs';

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
  const canonical = withoutCredentials(source).replace(/\/+$/, '');
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
