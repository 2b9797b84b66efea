import { HaloError } from '../../core/failure/errors.ts';
import type { RegistryName } from '../../core/journal/egress-events.ts';
import { formatEndpoint, parseEndpoint, endpointOfUrl } from '../egress/host-port.ts';
import type { UpstreamCredential } from './upstream-credentials.ts';

/** A package registry that a sandbox may read from. */
export interface RegistryRoute {
  name: RegistryName;
  /** Base URL of the registry; for PyPI that of its index, which ends with `/simple`. */
  upstream: string;
  /** Further `host:port`s that its links and redirects may target, with TLS. */
  hosts: readonly string[];
  /** Whether the upstream is configured explicitly. It may then have a non-public address. */
  named: boolean;
  /** npm: base URLs of the registries of scopes such as `@acme`. */
  scopes?: Readonly<Record<string, string>>;
  credentials?: readonly UpstreamCredential[];
}

/** Where a registry, or a scope of it, is. */
interface RegistryAddress {
  /** Path without a trailing slash. */
  basePath: string;
  /** Canonical `host:port`. */
  authority: string;
}

/** A parsed route. */
interface Registry extends RegistryAddress {
  name: RegistryName;
  /** The protocol of each allowed host. */
  protocols: ReadonlyMap<string, 'http:' | 'https:'>;
  /** The hosts that are configured explicitly; they may have non-public addresses. */
  named: readonly string[];
  /** By scope. */
  scopes: ReadonlyMap<string, RegistryAddress>;
  credentials: readonly UpstreamCredential[];
}

export type Registries = ReadonlyMap<RegistryName, Registry>;

/** Parses routes. Throws CONFIG_INVALID for an upstream that is not an http or https URL, or a host that is not a `host:port`. */
export function openRegistries(routes: readonly RegistryRoute[]): Registries {
  return new Map(routes.map((route) => [route.name, openRegistry(route)]));
}

/** A file or document of a registry. */
export interface RegistryItem {
  registry: Registry;
  /** The upstream host. */
  authority: string;
  url: URL;
  package: string;
  /** Whether links in its text must be rewritten to the proxy. */
  rewritten: boolean;
}

/**
 * Finds the item of a proxy path: `/~<registry>/<host:port>/<path upstream>`. npm uses only the path of an archive's URL,
 * whatever its server, and requests it alone or after the path of the registry.
 */
export function resolveRegistryItem(registries: Registries, path: string): RegistryItem | { reason: string } {
  const parts = /^\/~([a-z]+)\/([^/]+)(\/.*)$/.exec(path);
  const npm = registries.get('npm');
  if (parts === null && npm !== undefined) return itemOf(npm, npm.authority, `${npm.basePath}${path}`);
  const [, name = '', host = '', rest = ''] = parts ?? [];
  const registry = registries.get(name as RegistryName);
  if (registry === undefined) {
    return { reason: `network: the registry ${JSON.stringify(name)} refused; add it to [network] registries` };
  }
  // pip encodes the colon of a link as %3A.
  const target = parseEndpoint(host.replace(/%3a/i, ':'));
  const authority = target === undefined ? undefined : formatEndpoint(target);
  if (authority === undefined || !registry.protocols.has(authority)) {
    return {
      reason: `network: ${host} refused; it is not a host of the registry ${name}; add it to [network] registry_hosts`,
    };
  }
  return itemOf(registry, authority, rest);
}

/** The path prefix of an upstream host in the registry proxy. */
export function registryProxyPath(name: RegistryName, authority: string): string {
  return `/~${name}/${authority}/`;
}

/** The URL of a registry for clients in the sandbox, on a port of the loopback interface. */
export function registryProxyUrl({ name, authority, basePath }: Registry, port: number): string {
  return `http://127.0.0.1:${port}${registryProxyPath(name, authority)}${basePath.slice(1)}${basePath === '' ? '' : '/'}`;
}

/** The URL prefixes in the registry's responses, each with its host. */
export function linkPrefixes({ protocols }: Registry): { start: string; authority: string }[] {
  return [...protocols].flatMap(([authority, protocol]) => {
    const usual = authority.replace(protocol === 'https:' ? /:443$/ : /:80$/, '');
    return [...new Set([usual, authority])].map((host) => ({ start: `${protocol}//${host}/`, authority }));
  });
}

interface Kind {
  /** Matches the path after the registry's base path, or any path if `anywhere`. The first group is the package. */
  pattern: RegExp;
  anywhere?: true;
  rewritten?: true;
}

/** The kinds of items that are served. */
const KINDS: Record<RegistryName, Kind[]> = {
  npm: [
    { pattern: /\/((?:@[\w.~-]+\/)?[\w.~-]+)\/-\/(?:@[\w.~-]+\/)?[\w.~+-]+\.tgz$/, anywhere: true },
    // The archives of GitHub Packages.
    { pattern: /\/download\/(@[\w.~-]+\/[\w.~-]+)\/[\w.~+-]+\/[0-9a-f]{40,64}$/, anywhere: true },
    { pattern: /^\/(-\/npm\/v1\/keys|-\/ping)$/ },
    // Who has built a package; pnpm 11 asks for each.
    { pattern: /^\/-\/npm\/v1\/attestations\/((?:@[\w.~-]+\/)?[\w.~-]+)@[\w.~+-]+$/ },
    { pattern: /^\/(@[\w.~-]+\/[\w.~-]+|[\w.~][\w.~-]*)(?:\/[\w.~+-]+)?$/, rewritten: true },
  ],
  pypi: [
    {
      pattern: /\/([\w.+!-]+\.(?:whl|tar\.gz|tar\.bz2|tgz|zip|egg)(?:\.metadata|\.asc|\.provenance)?)$/,
      anywhere: true,
    },
    { pattern: /^\/([\w.-]+)\/?$/, rewritten: true },
  ],
  crates: [
    { pattern: /^\/(config\.json)$/, rewritten: true },
    { pattern: /\/([\w-]+)\/(?:[\w.+-]+\/download|[\w.+-]+\.crate)$/, anywhere: true },
    { pattern: /^\/(?:[12]|3\/[\w-]|[\w-]{2}\/[\w-]{2})\/([\w-]+)$/ },
  ],
  go: [
    { pattern: /^\/(sumdb\/[\w.-]+)\/(?:supported|latest|(?:lookup|tile)\/[\w.~!@/+-]+)$/ },
    { pattern: /^\/([\w.~!/-]+)\/(?:@latest|@v\/(?:list|[\w.~!+-]+\.(?:info|mod|zip)))$/ },
  ],
  debian: [{ pattern: /^\/(?:[\w.-]+\/)+?((?:dists|pool)\/[\w.~+:%/-]+)$/ }],
};

/** Rejects paths that two parsers could interpret differently. */
const PLAIN_PATH = /^(?:\/(?!\.\.?(?:\/|$))(?:[\w!~+@.:-]|%(?:2b|3a|40|7e))+)+\/?$/i;
const MAX_PATH_LENGTH = 512;

function itemOf(registry: Registry, authority: string, path: string): RegistryItem | { reason: string } {
  const { name } = registry;
  // Scoped npm names are written with %2f or a slash, and with %40 or an at sign; pip encodes the plus sign of a version.
  const plain = path
    .replaceAll(/\/%40/gi, '/@')
    .replaceAll(/(\/@[\w.~-]+)%2f/gi, '$1/')
    .replaceAll(/%2b/gi, '+');
  const places = [registry, ...registry.scopes.values()];
  const base = places.find((each) => each.authority === authority && plain.startsWith(`${each.basePath}/`))?.basePath;
  const matchOf = ({ pattern, anywhere }: Kind) =>
    anywhere ? pattern.exec(plain) : base === undefined ? null : pattern.exec(plain.slice(base.length));
  const kind = isPlainUrlPath(plain) ? KINDS[name].find((each) => matchOf(each) !== null) : undefined;
  if (kind === undefined) {
    return { reason: `network: ${path} refused; it is not an item of the registry ${name}` };
  }
  const found = matchOf(kind)?.[1] ?? '';
  const asked = { authority, path };
  const place = name === 'npm' ? placeNpmItem(registry, asked, found) : asked;
  return {
    registry,
    authority: place.authority,
    url: new URL(`${registry.protocols.get(place.authority)}//${place.authority}${place.path}`),
    package: found,
    rewritten: kind.rewritten === true,
  };
}

/** What does not depend on the server in the path of an npm archive: `/<name>/-/<file>`, or that of GitHub Packages. */
const NPM_ARCHIVE = /\/(?:(?:(?:@|%40)[^/%]+(?:\/|%2f))?[^/%]+\/-\/(?:@[^/]+\/)?[^/]+|download\/@.+)$/i;

/** The registry of a GitLab instance or group. Its archives are below `projects/`. */
const GITLAB = /^(.*\/api\/v4\/)(?:groups\/[^/]+\/-\/)?packages\/npm$/;

/**
 * Where an npm item is that was asked of the main registry, the only one that clients know. Packages of a scope are in the
 * registry of the scope. Archives of other servers, which lockfiles name, are where this registry has its own.
 */
function placeNpmItem(
  registry: Registry,
  asked: { authority: string; path: string },
  name: string,
): { authority: string; path: string } {
  const { authority, path } = asked;
  if (authority !== registry.authority) return asked;
  const place = registry.scopes.get(name.split('/')[0] ?? '') ?? registry;
  const isBelow = (base: string) => path.startsWith(`${base}/`);
  // Clients that follow the links of the registry request other paths of its host.
  if (place === registry && !isBelow(registry.basePath)) return asked;
  const base = [registry.basePath, place.basePath].find(isBelow) ?? '';
  const rest = path.slice(base.length);
  const gitlab = GITLAB.exec(place.basePath)?.[1];
  if (gitlab !== undefined && rest.startsWith(`${gitlab}projects/`)) return { authority: place.authority, path: rest };
  return { authority: place.authority, path: `${place.basePath}${NPM_ARCHIVE.exec(rest)?.[0] ?? rest}` };
}

/** Whether every parser reads the path of a URL in the same way. */
export function isPlainUrlPath(path: string): boolean {
  return path.length <= MAX_PATH_LENGTH && PLAIN_PATH.test(path);
}

function openRegistry({ name, upstream, hosts, named, scopes = {}, credentials = [] }: RegistryRoute): Registry {
  const main = parseAddress(`[network.upstreams] ${name}`, upstream);
  const others = Object.entries(scopes).map(
    ([scope, url]) => [scope, parseAddress(`[network.scopes] "${scope}"`, url)] as const,
  );
  const places = [...others.map(([, place]) => place), main];
  return {
    name,
    basePath: main.basePath,
    authority: main.authority,
    protocols: new Map([
      ...hosts.map((host) => [formatEndpoint(readHost(host)), 'https:'] as const),
      ...places.map(({ authority, protocol }) => [authority, protocol] as const),
    ]),
    named: [...others.map(([, { authority }]) => authority), ...(named ? [main.authority] : [])],
    scopes: new Map(others),
    credentials,
  };
}

/** `key`: the setting that has the URL. */
function parseAddress(key: string, text: string): RegistryAddress & { protocol: 'http:' | 'https:' } {
  const url = URL.canParse(text) ? new URL(text) : undefined;
  const protocol = url?.protocol;
  const target = url === undefined ? undefined : endpointOfUrl(url);
  if (
    url === undefined ||
    target === undefined ||
    (protocol !== 'http:' && protocol !== 'https:') ||
    url.username !== ''
  ) {
    throw new HaloError('CONFIG_INVALID', `${key}, "${text}", is not an http or https URL.`, {
      hint: `Set ${key} to an http or https address, without user name or password; tokens belong to [network.credentials].`,
    });
  }
  return { authority: formatEndpoint(target), basePath: url.pathname.replace(/(?<!\/)\/+$/, ''), protocol };
}

function readHost(text: string) {
  const target = parseEndpoint(text);
  if (target !== undefined) return target;
  throw new HaloError('CONFIG_INVALID', `[network] registry_hosts contains "${text}", which is not a host:port.`, {
    hint: 'Write it like "files.example.com:443".',
  });
}
