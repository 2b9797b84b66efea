import type { RegistryName } from '../../core/journal/egress-events.ts';
import type { RegistryItem } from './registries.ts';
import type { ArchiveRequest, ArchiveWriter, CachedArchive, RegistryCache } from './registry-cache.ts';
import { authorizationFor } from './upstream-credentials.ts';
import { isConfidential } from '../../lib/network/credential-target.ts';

/** Files that a registry never changes once they are published. */
interface ArchiveKind {
  path: RegExp;
  /** The first bytes of such a file. A login page in its place does not have them. */
  starts: RegExp;
}

const GZIP = /^\x1f\x8b/;
const ZIP = /^PK/;

const ARCHIVES: Record<RegistryName, ArchiveKind[]> = {
  npm: [{ path: /\/-\/.+\.tgz$|^\/download\/@/, starts: GZIP }],
  pypi: [
    { path: /\.(?:whl|zip|egg)$/, starts: ZIP },
    { path: /\.(?:tar\.gz|tgz)$/, starts: GZIP },
    { path: /\.tar\.bz2$/, starts: /^BZh/ },
  ],
  crates: [{ path: /\/download$|\.crate$/, starts: GZIP }],
  go: [
    { path: /\/@v\/v\d+\.\d+\.\d+[\w.~!+-]*\.zip$/, starts: ZIP },
    { path: /\/@v\/v\d+\.\d+\.\d+[\w.~!+-]*\.mod$/, starts: /^\s*(?:module|\/[/*])/ },
  ],
  debian: [{ path: /\/pool\/.+\.deb$/, starts: /^!<arch>\n/ }],
};

/** The archives of one gateway in the cache of this machine. */
export interface ArchiveSource {
  /** The request for an item in the cache; undefined if it is not an archive that never changes. */
  requestOf(item: RegistryItem): ArchiveRequest | undefined;
  find(request: ArchiveRequest): Promise<CachedArchive | undefined>;
  /** Starts to keep the response of a registry. Undefined if the disk does not allow it. */
  write(request: ArchiveRequest): Promise<ArchiveWriter | undefined>;
}

export interface ArchiveOptions {
  cache: RegistryCache;
  maxBytes: number;
}

/**
 * Opens the cache for one gateway. A client that requests an archive again, for example because its checksum was wrong,
 * receives it from the registry, and what is kept is replaced.
 */
export function openArchives({ cache, maxBytes }: ArchiveOptions): ArchiveSource {
  const requested = new Set<string>();
  return {
    requestOf: (item) => {
      const starts = archiveStart(item.registry.name, item.url);
      return starts === undefined ? undefined : { url: item.url, authorization: authorizationOf(item), starts };
    },
    find: async (request) => {
      if (requested.has(request.url.href)) return undefined;
      requested.add(request.url.href);
      return cache.find(request);
    },
    write: (request) => cache.write(request, maxBytes),
  };
}

/** What is sent with the request for an item, before any redirect. */
export function authorizationOf({ registry, url }: Pick<RegistryItem, 'registry' | 'url'>): string | undefined {
  return authorizationFor(registry.credentials, url);
}

/** How the file of a URL starts, if it is an archive that never changes; otherwise undefined. */
function archiveStart(registry: RegistryName, url: URL): RegExp | undefined {
  // The content of an unencrypted response is only trusted where the package manager verifies a signature.
  if (registry !== 'debian' && !isConfidential(url)) return undefined;
  return ARCHIVES[registry].find(({ path }) => path.test(url.pathname))?.starts;
}
