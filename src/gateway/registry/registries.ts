import { HaloError } from '../../core/failure/errors.ts';
import type { RegistryName } from '../../core/network.ts';
import { formatTarget, parseTarget, targetOf } from '../egress/host-port.ts';

/** A package registry that a sandbox may read from. */
export interface RegistryRoute {
  name: RegistryName;
  /** Base URL of what answers; for PyPI that of its index, which ends with `/simple`. */
  upstream: string;
  /** Further `host:port`s to which its answers may lead; TLS is spoken with them. */
  hosts: readonly string[];
  /** Whether somebody named the upstream: then it may have an address that is not public. */
  named: boolean;
}

/** A route that was read. */
export interface Registry {
  name: RegistryName;
  /** Path of the upstream, without a slash at its end. */
  basePath: string;
  /** Canonical `host:port` of the upstream. */
  authority: string;
  /** The protocol to speak with each host that may be asked. */
  protocols: ReadonlyMap<string, 'http:' | 'https:'>;
  named: boolean;
}

export type Registries = ReadonlyMap<RegistryName, Registry>;

/** Throws CONFIG_INVALID for an upstream that is no http or https URL, or a host that is no `host:port`. */
export function openRegistries(routes: readonly RegistryRoute[]): Registries {
  return new Map(routes.map((route) => [route.name, openRegistry(route)]));
}

/** Something that a registry has: where it is upstream, and the package for people. */
export interface RegistryItem {
  registry: Registry;
  /** The host that has it. */
  authority: string;
  url: URL;
  package: string;
  /** Whether its text leads to other places, which the client must find here. */
  rewritten: boolean;
}

/**
 * Finds what a path of the mirror stands for: `/~<registry>/<host:port>/<path upstream>`. npm takes only the path of
 * an archive's address, so that the archives of npm are also at the path that they have upstream.
 */
export function findItem(registries: Registries, path: string): RegistryItem | { reason: string } {
  const parts = /^\/~([a-z]+)\/([^/]+)(\/.*)$/.exec(path);
  const npm = registries.get('npm');
  if (parts === null && npm !== undefined) return itemOf(npm, npm.authority, path);
  const [, name = '', host = '', rest = ''] = parts ?? [];
  const registry = registries.get(name as RegistryName);
  if (registry === undefined) {
    return { reason: `network: the registry ${JSON.stringify(name)} refused; add it to [network] registries` };
  }
  // pip writes the colon of what it follows as %3A.
  const target = parseTarget(host.replace(/%3a/i, ':'));
  const authority = target === undefined ? undefined : formatTarget(target);
  if (authority === undefined || !registry.protocols.has(authority)) {
    return {
      reason: `network: ${host} refused; it is no host of the registry ${name}; add it to [network] registry_hosts`,
    };
  }
  return itemOf(registry, authority, rest);
}

/** The place in the mirror of everything that a host has. */
export function mirrorPath(name: RegistryName, authority: string): string {
  return `/~${name}/${authority}/`;
}

/** Where a client in the sandbox finds a registry, on a port of its loopback interface. */
export function mirrorUrl({ name, authority, basePath }: Registry, port: number): string {
  return `http://127.0.0.1:${port}${mirrorPath(name, authority)}${basePath.slice(1)}${basePath === '' ? '' : '/'}`;
}

/** The same beginnings as they stand in the registry's answers, each with the host that it means. */
export function linkStarts({ protocols }: Registry): { start: string; authority: string }[] {
  return [...protocols].flatMap(([authority, protocol]) => {
    const usual = authority.replace(protocol === 'https:' ? /:443$/ : /:80$/, '');
    return [...new Set([usual, authority])].map((host) => ({ start: `${protocol}//${host}/`, authority }));
  });
}

interface Kind {
  /** On the path behind the registry's own, unless it may be anywhere; the first group is the package. */
  pattern: RegExp;
  anywhere?: true;
  rewritten?: true;
}

/** What may be asked for; nothing else of a registry is served. */
const KINDS: Record<RegistryName, Kind[]> = {
  npm: [
    { pattern: /\/((?:@[\w.~-]+\/)?[\w.~-]+)\/-\/(?:@[\w.~-]+\/)?[\w.~+-]+\.tgz$/, anywhere: true },
    { pattern: /^\/(-\/npm\/v1\/keys|-\/ping)$/ },
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

/** Everything that could be read in two ways is no path. */
const PLAIN_PATH = /^(?:\/(?!\.\.?(?:\/|$))(?:[\w!~+@.:-]|%(?:2b|3a|40|7e))+)+\/?$/i;
const MOST_PATH = 512;

function itemOf(registry: Registry, authority: string, path: string): RegistryItem | { reason: string } {
  const { name, basePath } = registry;
  // npm puts the path of an archive behind that of the registry.
  const doubled = basePath !== '' && path.startsWith(`${basePath}${basePath}/`);
  const full = doubled ? path.slice(basePath.length) : path;
  // Scoped names of npm are written both ways.
  const plain = full.replace(/(\/@[\w.~-]+)%2f/i, '$1/');
  const inBase = authority === registry.authority && plain.startsWith(`${basePath}/`);
  const matchOf = ({ pattern, anywhere }: Kind) =>
    anywhere ? pattern.exec(plain) : inBase ? pattern.exec(plain.slice(basePath.length)) : null;
  const kind = isPlain(plain) ? KINDS[name].find((each) => matchOf(each) !== null) : undefined;
  if (kind === undefined) {
    return { reason: `network: ${full} refused; it is nothing that the registry ${name} has` };
  }
  return {
    registry,
    authority,
    url: new URL(`${registry.protocols.get(authority)}//${authority}${full}`),
    package: matchOf(kind)?.[1] ?? '',
    rewritten: kind.rewritten === true,
  };
}

function isPlain(path: string): boolean {
  return path.length <= MOST_PATH && PLAIN_PATH.test(path);
}

function openRegistry({ name, upstream, hosts, named }: RegistryRoute): Registry {
  const base = URL.canParse(upstream) ? new URL(upstream) : undefined;
  const protocol = base?.protocol;
  const target = base === undefined ? undefined : targetOf(base);
  if (
    base === undefined ||
    target === undefined ||
    (protocol !== 'http:' && protocol !== 'https:') ||
    base.username !== ''
  ) {
    throw new HaloError('CONFIG_INVALID', `The upstream of the registry ${name}, "${upstream}", is not usable.`, {
      hint: `Set [network.upstreams] ${name} to an http or https address, without user name or password.`,
    });
  }
  const authority = formatTarget(target);
  const others = hosts.map((host) => [formatTarget(readHost(host)), 'https:'] as const);
  const basePath = base.pathname.replace(/(?<!\/)\/+$/, '');
  return { name, basePath, authority, protocols: new Map([...others, [authority, protocol]]), named };
}

function readHost(text: string) {
  const target = parseTarget(text);
  if (target !== undefined) return target;
  throw new HaloError('CONFIG_INVALID', `[network] registry_hosts holds "${text}", which is not a host:port.`, {
    hint: 'Write it like "files.example.com:443".',
  });
}
