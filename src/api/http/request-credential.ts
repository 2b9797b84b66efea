import type { FastifyRequest } from 'fastify';
import { PAGE_KEY } from '../../core/access/page-key.ts';
import { HaloError } from '../../core/failure/errors.ts';
import type { Credential } from '../access/credential.ts';

/** The cause of a refusal that no token can change. */
export const WRONG_PLACE = Symbol('wrong host or origin');

/**
 * The name of a cookie of this server. Browsers send cookies to all ports of a host: with the port in the name, servers on
 * the same machine do not replace those of each other. With the prefix, browsers accept it only over TLS, from this host and
 * for all paths.
 */
export function cookieName({ headers }: FastifyRequest, name: string, isSecure = false): string {
  const port = /:(\d+)$/.exec(headers.host ?? '')?.[1];
  return `${isSecure ? '__Host-' : ''}${name}${port === undefined ? '' : `-${port}`}`;
}

export const SESSION_COOKIE = 'halo-session';

/** The values of all cookies with a name: other programs on this host can add some, also for longer paths. */
export function cookiesNamed({ headers }: FastifyRequest, name: string): string[] {
  return (headers.cookie ?? '').split(';').flatMap((pair) => {
    const [key = '', value = ''] = pair.split(/=(.*)/s);
    return key.trim() === name ? [value.trim()] : [];
  });
}

/** Undefined if the request has no credential. A session counts only if no other web site can have sent the request. */
export function readCredential(request: FastifyRequest, isSecure: boolean): Credential | undefined {
  const [scheme, token = ''] = (request.headers.authorization ?? '').split(' ');
  if (scheme?.toLowerCase() === 'bearer') return { token, from: 'header' };
  const cookies = cookiesNamed(request, cookieName(request, SESSION_COOKIE, isSecure));
  const key = request.headers[PAGE_KEY];
  const pageKey = typeof key === 'string' ? key : undefined;
  if ((pageKey === undefined && cookies.length === 0) || !isOwnPage(request)) return undefined;
  return { from: 'page', pageKey, cookies };
}

/**
 * Protects a server on loopback against DNS rebinding, and every server against pages of other sites in a browser.
 * Throws API_REFUSED.
 */
export function assertOwnHost(
  request: FastifyRequest,
  { hosts, url }: { hosts?: readonly string[] | undefined; url?: string | undefined },
): void {
  const host = hostnameOf(request);
  const publicHost = url === undefined ? [] : [new URL(url).hostname];
  if (hosts !== undefined && ![...hosts, ...publicHost].includes(host))
    throw new HaloError('API_REFUSED', `This server does not accept requests for the host name ${host}.`, {
      hint: `Use one of ${[...hosts, ...publicHost].join(', ')} in HALO_URL.`,
      cause: WRONG_PLACE,
    });
  const { origin } = request.headers;
  if (origin !== undefined && !ownOrigins(request, url).includes(origin))
    throw new HaloError('API_REFUSED', 'This server does not accept requests from other web sites.', {
      hint: 'Open the server at its own address; for another address, set `[server] url`.',
      cause: WRONG_PLACE,
    });
}

/** The origins of pages of this server: its configured address, and the one at which the browser asks. */
function ownOrigins({ headers, protocol }: FastifyRequest, url: string | undefined): string[] {
  return [`${protocol}://${headers.host ?? ''}`, ...(url === undefined ? [] : [new URL(url).origin])];
}

/** Browsers send Origin with every request that may change something, and Sec-Fetch-Site with all. `assertOwnHost` checked Origin. */
function isOwnPage({ method, headers }: FastifyRequest): boolean {
  const site = headers['sec-fetch-site'];
  if (site !== undefined && site !== 'same-origin' && site !== 'none') return false;
  return method === 'GET' || method === 'HEAD' || headers.origin !== undefined;
}

/** The name in the Host header; what a proxy says of it does not count. */
function hostnameOf({ headers }: FastifyRequest): string {
  return (headers.host ?? '').replace(/:\d+$/, '').replace(/^\[|\]$/g, '');
}
