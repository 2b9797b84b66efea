import type { IncomingMessage, OutgoingHttpHeaders, ServerResponse } from 'node:http';
import { pipeline } from 'node:stream/promises';
import { HaloError } from '../core/failure/errors.ts';
import { readStream } from '../lib/fs.ts';
import { defined } from '../lib/guards.ts';
import type { EgressContext } from './egress/egress-rules.ts';
import { endpointOfUrl, formatEndpoint, parseEndpoint } from './egress/host-port.ts';
import { describeNetworkError, sendText } from './error-responses.ts';
import { hasBody } from './headers.ts';
import { isPlainUrlPath } from './registry/registries.ts';
import { authorizationFor, type UpstreamCredential } from './registry/upstream-credentials.ts';
import { createByteLimiter, sendUpstream } from './upstream-request.ts';

/** A fetch sends the ids of the commits that it has; this is enough for thousands. */
const MAX_BODY_BYTES = 1024 * 1024;
const REQUEST_TYPE = 'application/x-git-upload-pack-request';
const RESPONSE_TYPES = {
  'info/refs': 'application/x-git-upload-pack-advertisement',
  'git-upload-pack': 'application/x-git-upload-pack-result',
};

/** The repositories that a gateway serves. */
export interface GitAccess {
  places: readonly AllowedRepositories[];
  credentials: readonly UpstreamCredential[];
}

/** Serves fetches of allowed repositories over git's smart HTTP protocol. There is no way to push. */
export async function serveGit(
  network: EgressContext,
  { places, credentials }: GitAccess,
  { req, res }: { req: IncomingMessage; res: ServerResponse },
): Promise<void> {
  const entry = { method: req.method ?? '', target: req.url ?? '' };
  const asked = resolveGitRequest(places, entry.target);
  const egress = { route: 'git', target: 'reason' in asked ? entry.target : asked.name } as const;
  const refuse = (status: number, reason: string) => {
    network.log.refuse({ ...entry, status }, reason, egress);
    res.once('finish', () => req.socket.destroySoon());
    sendText(res, status, reason);
  };
  if ('reason' in asked) return refuse(403, asked.reason);
  const { service, name, url } = asked;
  const isFetch = service === 'git-upload-pack';
  if (req.method !== (isFetch ? 'POST' : 'GET')) return refuse(405, `network: ${req.method} of ${name} refused`);
  if (!isFetch && hasBody(req)) return refuse(400, `network: GET of ${name} with a body refused`);
  if (isFetch && req.headers['content-type'] !== REQUEST_TYPE)
    return refuse(415, `network: a request for ${name} that is not ${REQUEST_TYPE} refused`);
  if (Number(req.headers['content-length'] ?? 0) > MAX_BODY_BYTES)
    return refuse(413, `network: a request for ${name} of more than ${MAX_BODY_BYTES} bytes refused`);
  const abort = new AbortController();
  res.once('close', () => abort.abort());
  try {
    const target = endpointOfUrl(url);
    const found = target && (await network.addresses.find(target, url.protocol));
    if (target === undefined || found === undefined) return refuse(403, `network: ${name} refused`);
    if ('reason' in found) return refuse(403, found.reason);
    const body = isFetch ? await readStream(req, MAX_BODY_BYTES) : undefined;
    const authorization = authorizationFor(credentials, url);
    const response = await sendUpstream(network, {
      method: isFetch ? 'POST' : 'GET',
      protocol: url.protocol === 'http:' ? 'http:' : 'https:',
      target,
      path: `${url.pathname}${url.search}`,
      headers: { ...requestHeaders(req, asked, body), ...defined({ authorization }) },
      found,
      signal: abort.signal,
      ...defined({ body }),
    });
    const status = response.statusCode ?? 502;
    const moved = [301, 302, 307, 308].includes(status) ? movedTo(places, asked, response) : undefined;
    if (moved !== undefined) {
      response.destroy();
      network.log.record({ ...entry, outcome: 'served', status }, egress);
      return void res.writeHead(status, { location: moved }).end();
    }
    const fault = findResponseFault(asked, response);
    if (fault !== undefined) {
      response.destroy();
      return refuse(status === 404 ? 404 : 502, fault);
    }
    const carried = network.log.record({ ...entry, outcome: 'served', status }, egress);
    res.writeHead(200, { 'content-type': RESPONSE_TYPES[service], 'cache-control': 'no-cache' });
    await pipeline(response, createByteLimiter(network.limits.responseBytes, carried), res);
  } catch (error) {
    if (res.headersSent || res.destroyed) return void res.destroy();
    const reason = `network: the repository ${name} could not be reached: ${describeNetworkError(error)}`;
    network.log.record({ ...entry, outcome: 'failed', status: 502 }, egress, reason);
    sendText(res, 502, reason);
  }
}

/** Builds the headers from known values only. Servers recognize git by its user agent. */
function requestHeaders(req: IncomingMessage, { service }: GitRequest, body: Buffer | undefined): OutgoingHttpHeaders {
  const protocol = /^version=[0-2]$/.exec(String(req.headers['git-protocol'] ?? ''))?.[0];
  return {
    'user-agent': 'git/2 (halo)',
    accept: RESPONSE_TYPES[service],
    'accept-encoding': 'identity',
    ...(protocol === undefined ? {} : { 'git-protocol': protocol }),
    ...(body === undefined ? {} : { 'content-type': REQUEST_TYPE, 'content-length': body.length }),
    ...(req.headers['content-encoding'] === 'gzip' ? { 'content-encoding': 'gzip' } : {}),
  };
}

/** The path in the proxy where a repository is now. git itself follows it. */
function movedTo(
  places: readonly AllowedRepositories[],
  { url }: GitRequest,
  { headers }: IncomingMessage,
): string | undefined {
  const { location = '' } = headers;
  return URL.canParse(location, url.href) ? gitProxyPath(places, new URL(location, url)) : undefined;
}

/** Why a response is not passed on, as a reason for users. */
function findResponseFault(
  { service, name }: GitRequest,
  { statusCode = 502, headers }: IncomingMessage,
): string | undefined {
  if (statusCode >= 300 && statusCode < 400)
    return `network: the repository ${name} redirects to an address that is not below a URL of [network] git`;
  if (statusCode === 401 || statusCode === 403)
    return `network: the git server refused the repository ${name} (HTTP status ${statusCode}); see [network.credentials]`;
  if (statusCode !== 200) return `network: the git server answered ${statusCode} for the repository ${name}`;
  if (
    headers['content-type'] !== RESPONSE_TYPES[service] ||
    !['identity', undefined].includes(headers['content-encoding'])
  )
    return `network: the server of ${name} does not answer as a git server with the smart HTTP protocol`;
  return undefined;
}

/** Repositories that a sandbox may fetch. */
export interface GitRoute {
  /** URLs that end with a slash: everything below them. */
  urls: readonly string[];
  credentials: readonly UpstreamCredential[];
}

/** Where repositories are that may be fetched. */
interface AllowedRepositories {
  protocol: 'http:' | 'https:';
  /** Canonical `host:port`. */
  authority: string;
  /** Begins and ends with a slash. */
  path: string;
}

/** Parses the URLs. Throws CONFIG_INVALID. */
export function parseAllowedRepositories(urls: readonly string[]): AllowedRepositories[] {
  return urls.map((text) => {
    const url = URL.canParse(text) ? new URL(text) : undefined;
    const target = url === undefined ? undefined : endpointOfUrl(url);
    const protocol = url?.protocol;
    if (
      url === undefined ||
      target === undefined ||
      (protocol !== 'https:' && protocol !== 'http:') ||
      url.username !== '' ||
      !isPlainUrlPath(url.pathname) ||
      !url.pathname.endsWith('/')
    ) {
      throw new HaloError(
        'CONFIG_INVALID',
        `[network] git contains "${text}", which is not a URL that ends with a slash.`,
        {
          hint: 'Write it like "https://git.example.com/team/".',
        },
      );
    }
    return { protocol, authority: formatEndpoint(target), path: url.pathname };
  });
}

/** A request of git's protocol for one repository. */
interface GitRequest {
  /** `info/refs` lists the references, `git-upload-pack` fetches objects. */
  service: 'info/refs' | 'git-upload-pack';
  /** `host:port/path of the repository`, for records. */
  name: string;
  url: URL;
  authority: string;
}

const REQUEST = /^\/~git\/([^/]+)(\/.+)\/(info\/refs\?service=git-upload-pack|git-upload-pack)$/;

/** Finds the request of a proxy path, `/~git/<host:port>/<path of the repository>/…`. Only fetches are requests. */
function resolveGitRequest(places: readonly AllowedRepositories[], path: string): GitRequest | { reason: string } {
  const [, host = '', repository = '', tail = ''] = REQUEST.exec(path) ?? [];
  if (tail === '') return { reason: `network: ${path} refused; repositories can only be fetched` };
  const target = parseEndpoint(host);
  const authority = target === undefined ? host : formatEndpoint(target);
  const place = places.find(
    (each) => each.authority === authority && repository.startsWith(each.path) && repository.length > each.path.length,
  );
  if (place === undefined || !isPlainUrlPath(repository)) {
    return { reason: `network: the repository ${host}${repository} refused; it is not below a URL of [network] git` };
  }
  return {
    service: tail === 'git-upload-pack' ? 'git-upload-pack' : 'info/refs',
    name: `${authority}${repository}`,
    url: new URL(`${place.protocol}//${authority}${repository}/${tail}`),
    authority,
  };
}

/** The path in the proxy of a URL that the server redirects to; undefined if it is not a request for an allowed repository. */
function gitProxyPath(places: readonly AllowedRepositories[], url: URL): string | undefined {
  const target = endpointOfUrl(url);
  if (target === undefined || url.username !== '' || url.password !== '') return undefined;
  const path = `/~git/${formatEndpoint(target)}${url.pathname}${url.search}`;
  const request = resolveGitRequest(places, path);
  return 'reason' in request || request.url.protocol !== url.protocol ? undefined : path;
}

/** Variables that let git, and the package managers that call it, fetch the repositories through a port of the loopback interface. */
export function gitClientEnv(urls: readonly string[], port: number): Record<string, string> {
  if (urls.length === 0) return {};
  const rules = parseAllowedRepositories(urls).flatMap(({ protocol, authority, path }) => {
    const proxy = `url.http://127.0.0.1:${port}/~git/${authority}${path}.insteadOf`;
    const host = authority.replace(protocol === 'https:' ? /:443$/ : /:80$/, '');
    const name = authority.replace(/:\d+$/, '');
    const spellings = [`${protocol}//${host}${path}`, `ssh://git@${name}${path}`, `git@${name}:${path.slice(1)}`];
    return spellings.map((spelling) => [proxy, spelling] as const);
  });
  const entries = rules.flatMap(([key, value], index) => [
    [`GIT_CONFIG_KEY_${index}`, key],
    [`GIT_CONFIG_VALUE_${index}`, value],
  ]);
  return {
    ...(Object.fromEntries(entries) as Record<string, string>),
    GIT_CONFIG_COUNT: String(rules.length),
    GIT_TERMINAL_PROMPT: '0',
    // cargo's own implementation of git does not read these rules.
    CARGO_NET_GIT_FETCH_WITH_CLI: 'true',
  };
}
