import { HaloError } from '../../core/failure/errors.ts';
import { formatEndpoint, parseEndpoint, endpointOfUrl } from '../egress/host-port.ts';
import { isPlainUrlPath } from '../registry/registries.ts';
import type { UpstreamCredential } from '../registry/upstream-credentials.ts';

/** Repositories that a sandbox may fetch. */
export interface GitRoute {
  /** URLs that end with a slash: everything below them. */
  urls: readonly string[];
  credentials: readonly UpstreamCredential[];
}

/** Where repositories are that may be fetched. */
export interface AllowedRepositories {
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
export interface GitRequest {
  /** `info/refs` lists the references, `git-upload-pack` fetches objects. */
  service: 'info/refs' | 'git-upload-pack';
  /** `host:port/path of the repository`, for records. */
  name: string;
  url: URL;
  authority: string;
}

const REQUEST = /^\/~git\/([^/]+)(\/.+)\/(info\/refs\?service=git-upload-pack|git-upload-pack)$/;

/** Finds the request of a proxy path, `/~git/<host:port>/<path of the repository>/…`. Only fetches are requests. */
export function resolveGitRequest(
  places: readonly AllowedRepositories[],
  path: string,
): GitRequest | { reason: string } {
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
export function gitProxyPath(places: readonly AllowedRepositories[], url: URL): string | undefined {
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
