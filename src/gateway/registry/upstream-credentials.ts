import { mayReceiveCredential } from '../../lib/network/credential-target.ts';
import { formatEndpoint, parseEndpoint } from '../egress/host-port.ts';

/** What is sent with requests to an address and below it, and nowhere else. */
export interface UpstreamCredential {
  /** Canonical `host:port`. */
  authority: string;
  /** Path without a trailing slash; empty for the whole host. */
  path: string;
  /** The value of the header of this name. */
  authorization: string;
}

/** How a token is sent: `Bearer <token>`, `Basic <user:token>`, or the token alone, as cargo does. */
type CredentialScheme = 'bearer' | 'basic' | 'token';

/** Parses an address such as `host`, `host:8443` or `host/npm`, with port 443 by default. Undefined if it is none. */
export function openCredential(
  address: string,
  { scheme, user, token }: { scheme: CredentialScheme; user: string; token: string },
): UpstreamCredential | undefined {
  const [, host = '', port = ':443', path = ''] = /^(\[[^\]]*\]|[^:/]+)(:\d+)?(\/.*)?$/.exec(address) ?? [];
  const endpoint = parseEndpoint(`${host}${port}`);
  if (endpoint === undefined) return undefined;
  const authorization = {
    bearer: `Bearer ${token}`,
    basic: `Basic ${Buffer.from(`${user}:${token}`).toString('base64')}`,
    token,
  }[scheme];
  return { authority: formatEndpoint(endpoint), path: path.replace(/\/+$/, ''), authorization };
}

/**
 * The header for a URL: of the credential with the longest path that it is below. Undefined without one, and for
 * unencrypted connections to other machines.
 */
export function authorizationFor(credentials: readonly UpstreamCredential[], url: URL): string | undefined {
  // The address of a credential has no scheme: its port is that of one service.
  return credentials
    .filter(({ authority }) => mayReceiveCredential(url, `${url.protocol}//${authority}`))
    .filter(({ path }) => isBelow(url.pathname, path))
    .sort((a, b) => b.path.length - a.path.length)[0]?.authorization;
}

function isBelow(path: string, base: string): boolean {
  return path === base || path.startsWith(`${base}/`);
}
