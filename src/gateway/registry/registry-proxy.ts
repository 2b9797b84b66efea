import type { IncomingHttpHeaders, IncomingMessage, OutgoingHttpHeaders, ServerResponse } from 'node:http';
import { Transform } from 'node:stream';
import { pipeline } from 'node:stream/promises';
import { TLSSocket } from 'node:tls';
import { defined } from '../../lib/guards.ts';
import { isConfidential } from '../../lib/network/credential-target.ts';
import type { EgressContext } from '../egress/egress-rules.ts';
import { endpointOfUrl, formatEndpoint } from '../egress/host-port.ts';
import { describeNetworkError, sendText } from '../error-responses.ts';
import { hasBody } from '../headers.ts';
import { createByteLimiter, sendUpstream } from '../upstream-request.ts';
import { linkPrefixes, registryProxyPath, resolveRegistryItem, type RegistryItem } from './registries.ts';
import { authorizationOf, type ArchiveSource, type ArchiveWriter, type CachedArchive } from './registry-cache.ts';
import { authorizationFor } from './upstream-credentials.ts';

const MAX_REDIRECTS = 3;

/** Media types that package managers accept, preferred first. The accepted ones are forwarded to the registry. */
const MEDIA_TYPES = [
  'application/vnd.npm.install-v1+json',
  'application/vnd.pypi.simple.v1+json',
  'application/vnd.pypi.simple.v1+html',
  'application/json',
  'text/html',
  '*/*',
];
const ONE_RANGE = /^bytes=(?:\d{1,12}-\d{0,12}|-\d{1,12})$/;
const FROM_REGISTRY = ['content-type', 'etag', 'last-modified', 'cache-control', 'content-range', 'accept-ranges'];

export interface ProxyContext {
  network: EgressContext;
  /** Keeps archives on this machine; none when undefined. */
  archives: ArchiveSource | undefined;
}

/** Whether a path belongs to the registry proxy. npm archives are recognized by their form. */
export function isRegistryProxyPath({ network }: ProxyContext, path: string): boolean {
  if (path.startsWith('/~')) return true;
  return (
    network.registries.has('npm') && (/\/-\/(?:@[^/]+\/)?[^/]+\.tgz$/.test(path) || path.startsWith('/download/@'))
  );
}

/** Serves GET and HEAD for items of a registry. Only the path and the media type are sent upstream. */
export async function serveRegistry(context: ProxyContext, req: IncomingMessage, res: ServerResponse): Promise<void> {
  const { registries } = context.network;
  return serveItem(context, { req, res, item: resolveRegistryItem(registries, req.url ?? '') });
}

/** Serves apt, which requests a server by name. The configured upstream is used, whatever the name. */
export async function serveDebian(context: ProxyContext, req: IncomingMessage, res: ServerResponse): Promise<void> {
  const debian = context.network.registries.get('debian');
  const path = /^http:\/\/[^/?#]*(\/.*)$/i.exec(req.url ?? '')?.[1] ?? '';
  const own = `/~debian/${debian?.authority}${debian?.basePath}`;
  return serveItem(context, { req, res, item: resolveRegistryItem(context.network.registries, `${own}${path}`) });
}

interface Wanted {
  req: IncomingMessage;
  res: ServerResponse;
  item: RegistryItem | { reason: string };
}

async function serveItem(context: ProxyContext, { req, res, item }: Wanted): Promise<void> {
  const { network, archives } = context;
  const method = req.method ?? '';
  const entry = { method, target: req.url ?? '' };
  const egress = { route: 'registry', target: 'reason' in item ? entry.target : nameOf(item) } as const;
  const refuseItem = (status: number, reason: string) => {
    network.log.refuse({ ...entry, status }, reason, egress);
    res.once('finish', () => req.socket.destroySoon());
    sendText(res, status, reason);
  };
  if (method !== 'GET' && method !== 'HEAD') {
    return refuseItem(405, `network: ${method} refused; registries are read-only`);
  }
  if (hasBody(req)) return refuseItem(400, `network: ${method} with a body refused`);
  if ('reason' in item) return refuseItem(403, item.reason);
  const abort = new AbortController();
  res.once('close', () => abort.abort());
  try {
    const rewriting = item.rewritten && method === 'GET';
    const headers = requestHeaders(req.headers, rewriting);
    const served = (status: number) => network.log.record({ ...entry, outcome: 'served', status }, egress);
    const wanted = method === 'GET' && headers['range'] === undefined ? archives?.requestOf(item) : undefined;
    const cached = wanted === undefined ? undefined : await archives?.find(wanted);
    if (cached !== undefined) return await sendCached(res, cached, served(200));
    const followed = await follow(context, { item, method, headers, signal: abort.signal });
    if ('reason' in followed) return refuseItem(502, followed.reason);
    const { response, isSameAuthority } = followed;
    const isKept = wanted !== undefined && response.statusCode === 200 && isSameAuthority;
    const writer = isKept ? await archives?.write(wanted) : undefined;
    try {
      await passOn(network, { req, res, item, response, writer, carried: served(response.statusCode ?? 502) });
      await writer?.keep();
    } finally {
      await writer?.discard();
    }
  } catch (error) {
    if (res.headersSent || res.destroyed) return void res.destroy();
    const reason = `network: the registry ${item.registry.name} could not be reached: ${describeNetworkError(error)}`;
    network.log.record({ ...entry, outcome: 'failed', status: 502 }, egress, reason);
    sendText(res, 502, reason);
  }
}

interface Question {
  item: RegistryItem;
  method: 'GET' | 'HEAD';
  headers: OutgoingHttpHeaders;
  signal: AbortSignal;
}

interface Followed {
  response: IncomingMessage;
  /** Whether every redirect was trusted as much as the first request: encrypted, and with no other credential. */
  isSameAuthority: boolean;
}

/** Sends a request and follows redirects to hosts of the same registry. */
async function follow(
  { network }: ProxyContext,
  { item, ...question }: Question,
): Promise<Followed | { reason: string }> {
  const { registry } = item;
  let url = item.url;
  const first = authorizationOf(item);
  let isSameAuthority = true;
  for (let redirects = 0; redirects <= MAX_REDIRECTS; redirects += 1) {
    const target = endpointOfUrl(url);
    const name = target === undefined ? url.host : formatEndpoint(target);
    if (target === undefined || registry.protocols.get(name) !== url.protocol) {
      return {
        reason: `network: the registry ${registry.name} redirects to ${name}, which is not one of its hosts; see [network] registry_hosts`,
      };
    }
    const found = await network.addresses.find(target, url.protocol);
    if ('reason' in found) return found;
    const protocol = url.protocol === 'https:' ? 'https:' : 'http:';
    const authorization = authorizationFor(registry.credentials, url);
    isSameAuthority &&= authorization === undefined || authorization === first;
    isSameAuthority &&= isConfidential(url) || !isConfidential(item.url);
    const headers = { ...question.headers, ...defined({ authorization }) };
    const path = `${url.pathname}${url.search}`;
    const response = await sendUpstream(network, { ...question, headers, protocol, target, path, found });
    const { location } = response.headers;
    const isRedirect = [301, 302, 303, 307, 308].includes(response.statusCode ?? 0) && location !== undefined;
    if (!isRedirect) return { response, isSameAuthority };
    response.destroy();
    if (!URL.canParse(location, url.href)) break;
    url = new URL(location, url);
    if (url.username !== '' || url.password !== '') break;
  }
  return { reason: `network: the registry ${registry.name} redirects too often or to an invalid URL` };
}

interface Passing {
  req: IncomingMessage;
  res: ServerResponse;
  item: RegistryItem;
  response: IncomingMessage;
  /** Keeps the response, if set. */
  writer: ArchiveWriter | undefined;
  carried: (bytes: number) => void;
}

async function sendCached(
  res: ServerResponse,
  { content, bytes }: CachedArchive,
  carried: (bytes: number) => void,
): Promise<void> {
  res.writeHead(200, { 'content-type': 'application/octet-stream', 'content-length': bytes });
  carried(bytes);
  await pipeline(content, res);
}

/** Streams the response, rewrites its links to the proxy and limits its size. */
async function passOn({ limits }: EgressContext, passing: Passing): Promise<void> {
  const { req, res, item, response, writer, carried } = passing;
  const status = response.statusCode ?? 502;
  const links = status === 200 && item.rewritten && req.method === 'GET' ? linksOf(req, item) : [];
  if (links.length > 0 && !['identity', undefined].includes(response.headers['content-encoding'])) {
    response.destroy();
    return sendText(
      res,
      502,
      `network: the registry ${item.registry.name} sent a compressed response, which was not requested`,
    );
  }
  const kept = ['content-encoding', 'content-length'].filter(() => links.length === 0);
  const headers = [...FROM_REGISTRY, ...kept].flatMap((name) => {
    const value = response.headers[name];
    return value === undefined ? [] : [[name, value]];
  });
  const counted = createByteLimiter(limits.responseBytes, carried);
  res.writeHead(status, Object.fromEntries(headers) as OutgoingHttpHeaders);
  const steps = links.length > 0 ? [replaceText(links)] : writer !== undefined ? [writer.through] : [];
  await pipeline([response, counted, ...steps, res]);
}

const WITHOUT_TOKEN = ['"auth-required":true', '"auth-required": true'].map((from) => ({
  from,
  to: from.replace('true', 'false'),
}));

/** The replacements of links, and of the demand for a token, for this sandbox. The npm client needs none: it requests archives at their upstream path. */
function linksOf(req: IncomingMessage, { registry, authority }: RegistryItem): { from: string; to: string }[] {
  if (registry.name === 'npm' && /^npm\//.test(req.headers['user-agent'] ?? '')) return [];
  // The gateway has the token; cargo in the sandbox would ask for one.
  const own = registry.name === 'crates' ? WITHOUT_TOKEN : [];
  // In a tunnel, links lead to the registry itself.
  if (req.socket instanceof TLSSocket) return own;
  const here = `http://${/^(?:127\.0\.0\.1|localhost):\d{1,5}$/.exec(req.headers.host ?? '')?.[0] ?? '127.0.0.1'}`;
  const links = linkPrefixes(registry).map((link) => {
    return { from: link.start, to: `${here}${registryProxyPath(registry.name, link.authority)}` };
  });
  if (registry.name !== 'pypi') return [...links, ...own];
  return [...links, { from: 'href="/', to: `href="${here}${registryProxyPath('pypi', authority)}` }];
}

/** Builds the request headers from known values only, so that no text of the client leaves the sandbox. */
function requestHeaders(headers: IncomingHttpHeaders, rewriting: boolean): OutgoingHttpHeaders {
  const { range, 'if-range': condition } = headers;
  const partial = !rewriting && condition === undefined && range !== undefined && ONE_RANGE.test(range);
  return {
    accept: acceptHeader(headers.accept ?? ''),
    'accept-encoding': 'identity',
    'user-agent': 'halo',
    ...(partial ? { range } : {}),
  };
}

function acceptHeader(accept: string): string {
  const named = accept.split(',').map((form) => form.split(';')[0]?.trim().toLowerCase());
  const known = MEDIA_TYPES.filter((form) => named.includes(form));
  if (known.length === 0) return '*/*';
  return known.map((form, index) => (index === 0 ? form : `${form};q=${(1 - index / 10).toFixed(1)}`)).join(', ');
}

function nameOf({ registry, package: name }: RegistryItem): string {
  return `${registry.name}:${name.replace(/%2f/i, '/')}`;
}

interface Replacement {
  from: string;
  to: string;
}

/** Replaces texts in a stream, also across chunk borders. No `from` may be a prefix of another one. */
function replaceText(replacements: readonly Replacement[]): Transform {
  const longest = Math.max(1, ...replacements.map(({ from }) => from.length));
  const pattern = new RegExp(
    replacements.map(({ from }) => from.replace(/[\\^$.*+?()[\]{}|/]/g, '\\$&')).join('|'),
    'g',
  );
  const meaning = new Map(replacements.map(({ from, to }) => [from, to]));
  let pending = '';
  // latin1 preserves every byte.
  const replaceUpTo = (end: number): Buffer => {
    let out = '';
    let at = 0;
    for (const match of pending.matchAll(pattern)) {
      if (match.index >= end) break;
      out += pending.slice(at, match.index) + (meaning.get(match[0]) ?? '');
      at = match.index + match[0].length;
    }
    const rest = Math.max(at, end);
    out += pending.slice(at, rest);
    pending = pending.slice(rest);
    return Buffer.from(out, 'latin1');
  };
  return new Transform({
    transform(chunk: Buffer, _encoding, done) {
      pending += chunk.toString('latin1');
      done(null, replaceUpTo(Math.max(0, pending.length - longest + 1)));
    },
    flush(done) {
      done(null, replaceUpTo(pending.length));
    },
  });
}
