import { createHash, randomBytes } from 'node:crypto';
import { constants } from 'node:fs';
import { open, readdir, rename, rm, stat, writeFile, type FileHandle } from 'node:fs/promises';
import { join } from 'node:path';
import { Transform, type Readable } from 'node:stream';
import type { RegistryName } from '../../core/journal/egress-events.ts';
import { createFolders, ensurePrivateFolder, readFolder } from '../../lib/fs.ts';
import { isConfidential } from '../../lib/network/credential-target.ts';
import type { RegistryItem } from './registries.ts';
import { authorizationFor } from './upstream-credentials.ts';

/** An archive whose content has been verified. */
export interface CachedArchive {
  bytes: number;
  /** Read it completely, or destroy it. */
  content: Readable;
}

/** An archive on its way into the cache. */
export interface ArchiveWriter {
  /** Passes all bytes through. Errors of the disk only prevent that the archive is kept. */
  through: Transform;
  /** Keeps the archive. Call it when all of its bytes have arrived. */
  keep(): Promise<void>;
  /** Removes what was written. Safe to call repeatedly, and after `keep`. */
  discard(): Promise<void>;
}

/** What an archive is asked for by, and how it starts. */
interface ArchiveRequest {
  url: URL;
  /** What was sent to get it. An archive is only returned to requests that would send the same. */
  authorization: string | undefined;
  starts: RegExp;
}

const HASH = /^[0-9a-f]{64}$/;
/** The cache is trimmed to this share of its maximum, each time that a smaller share of it was added. */
const TRIMMED = 0.9;
const ADDED = 0.05;
/** The share of the maximum that one archive may have. */
const LARGEST = 0.2;
/** Temporary files that are older belong to a process that died, in ms. */
const MAX_WRITE_MS = 6 * 3600_000;

/** The cache that all processes of a HALO_HOME share. */
export function openRegistryCache(home: string): RegistryCache {
  return new RegistryCache(join(home, 'cache', 'registry'));
}

/**
 * Archives of registries on this machine. `sha256/<xx>/<hash of the content>` are the contents, and
 * `urls/<xx>/<hash of the request>.<hash of the content>` are empty files that say which request has which content. Content
 * that does not have its hash counts as missing. All processes of a HALO_HOME share the folder, without locks.
 */
export class RegistryCache {
  private readonly dir: string;
  private addedBytes = Infinity;

  /** `dir`: an absolute path; created with the first archive. */
  constructor(dir: string) {
    this.dir = dir;
  }

  /** Finds the archive of a request. Removes damaged ones. Never throws: what cannot be read is missing. */
  async find(request: ArchiveRequest): Promise<CachedArchive | undefined> {
    const name = nameOf(request);
    for (const link of await this.linksOf(name)) {
      const found = await this.openContent(link.slice(name.length + 1)).catch(() => undefined);
      if (found !== undefined) return found;
      await rm(this.linkPath(link), { force: true }).catch(() => undefined);
    }
    return undefined;
  }

  /** Starts to write the archive of a request. Undefined if the disk does not allow it. */
  async write(request: ArchiveRequest, maxBytes: number): Promise<ArchiveWriter | undefined> {
    try {
      await ensurePrivateFolder(this.dir);
      await createFolders(join(this.dir, 'tmp'), 0o700);
      const path = join(this.dir, 'tmp', randomBytes(12).toString('hex'));
      const file = await open(path, 'wx', 0o600);
      return new TemporaryArchive({ path, file, starts: request.starts, maxBytes }, (hash, bytes) =>
        this.publish({ path, link: `${nameOf(request)}.${hash}`, hash, bytes, maxBytes }),
      );
    } catch {
      return undefined;
    }
  }

  /** The size of all archives, in bytes. */
  async size(): Promise<number> {
    return (await this.contents()).reduce((sum, { bytes }) => sum + bytes, 0);
  }

  /** Removes the archives that were not used for the longest time, until the rest has at most this size. Returns the bytes removed. */
  async trim(maxBytes: number): Promise<number> {
    const contents = (await this.contents()).sort((a, b) => a.usedAt - b.usedAt);
    const before = contents.reduce((sum, { bytes }) => sum + bytes, 0);
    const kept = new Set(contents.map(({ hash }) => hash));
    let bytes = before;
    for (const each of contents) {
      if (bytes <= maxBytes) break;
      await rm(this.contentPath(each.hash), { force: true });
      kept.delete(each.hash);
      bytes -= each.bytes;
    }
    for (const link of await listShards(join(this.dir, 'urls')))
      if (!kept.has(link.split('.')[1] ?? '')) await rm(this.linkPath(link), { force: true });
    await this.removeOldWrites();
    return before - bytes;
  }

  private async publish({ path, link, hash, bytes, maxBytes }: Written): Promise<void> {
    await createFolders(join(this.dir, 'sha256', hash.slice(0, 2)), 0o700);
    await createFolders(join(this.dir, 'urls', link.slice(0, 2)), 0o700);
    const outdated = (await this.linksOf(link.split('.')[0] ?? '')).filter((each) => each !== link);
    await rename(path, this.contentPath(hash));
    await writeFile(this.linkPath(link), '', { mode: 0o600 });
    for (const each of outdated) await rm(this.linkPath(each), { force: true });
    this.addedBytes += bytes;
    if (this.addedBytes <= maxBytes * ADDED) return;
    this.addedBytes = 0;
    await this.trim(maxBytes * TRIMMED);
  }

  /** Opens a content if it has its hash; removes it otherwise. Throws if there is none. */
  private async openContent(hash: string): Promise<CachedArchive | undefined> {
    if (!HASH.test(hash)) return undefined;
    const path = this.contentPath(hash);
    const file = await open(path, constants.O_RDONLY | constants.O_NOFOLLOW | constants.O_NONBLOCK);
    try {
      const info = await file.stat();
      if (info.isFile() && (await hashOf(file)) === hash) {
        const now = new Date();
        await file.utimes(now, now).catch(() => undefined);
        return { bytes: info.size, content: file.createReadStream({ start: 0 }) };
      }
    } catch (error) {
      await file.close();
      throw error;
    }
    await file.close();
    await rm(path, { force: true });
    return undefined;
  }

  private async contents(): Promise<{ hash: string; bytes: number; usedAt: number }[]> {
    const hashes = (await listShards(join(this.dir, 'sha256'))).filter((hash) => HASH.test(hash));
    const found = await Promise.all(
      hashes.map(async (hash) => {
        const info = await stat(this.contentPath(hash)).catch(() => undefined);
        return info === undefined ? [] : [{ hash, bytes: info.size, usedAt: info.mtimeMs }];
      }),
    );
    return found.flat();
  }

  private async removeOldWrites(): Promise<void> {
    for (const name of await readFolder(join(this.dir, 'tmp'))) {
      const path = join(this.dir, 'tmp', name);
      const info = await stat(path).catch(() => undefined);
      if (info !== undefined && Date.now() - info.mtimeMs > MAX_WRITE_MS) await rm(path, { force: true });
    }
  }

  private async linksOf(name: string): Promise<string[]> {
    const links = await readFolder(join(this.dir, 'urls', name.slice(0, 2))).catch(() => []);
    return links.filter((link) => link.startsWith(`${name}.`));
  }

  private contentPath(hash: string): string {
    return join(this.dir, 'sha256', hash.slice(0, 2), hash);
  }

  private linkPath(link: string): string {
    return join(this.dir, 'urls', link.slice(0, 2), link);
  }
}

interface Written {
  /** The temporary file. */
  path: string;
  link: string;
  hash: string;
  bytes: number;
  maxBytes: number;
}

interface Target {
  path: string;
  file: FileHandle;
  starts: RegExp;
  maxBytes: number;
}

class TemporaryArchive implements ArchiveWriter {
  readonly through: Transform;
  private readonly target: Target;
  private readonly publish: (hash: string, bytes: number) => Promise<void>;
  private readonly hash = createHash('sha256');
  private bytes = 0;
  private isFaulty = false;
  private closing: Promise<void> | undefined;

  constructor(target: Target, publish: (hash: string, bytes: number) => Promise<void>) {
    this.target = target;
    this.publish = publish;
    this.through = new Transform({
      transform: (chunk: Buffer, _encoding, done) => {
        void this.add(chunk).then(() => done(null, chunk));
      },
    });
  }

  async keep(): Promise<void> {
    await this.close();
    // Only the size and the start of the content say that it is an archive; package managers verify more.
    if (this.isFaulty || this.bytes === 0) return this.discard();
    await this.publish(this.hash.digest('hex'), this.bytes).catch(() => this.discard());
  }

  async discard(): Promise<void> {
    await this.close();
    await rm(this.target.path, { force: true }).catch(() => undefined);
  }

  private async add(chunk: Buffer): Promise<void> {
    if (this.isFaulty) return;
    const { file, starts, maxBytes } = this.target;
    if (this.bytes === 0) this.isFaulty = !starts.test(chunk.subarray(0, 64).toString('latin1'));
    this.bytes += chunk.length;
    this.hash.update(chunk);
    if (this.isFaulty || this.bytes > maxBytes * LARGEST) this.isFaulty = true;
    else await file.writeFile(chunk).catch(() => (this.isFaulty = true));
  }

  private close(): Promise<void> {
    return (this.closing ??= this.target.file.close().catch(() => undefined));
  }
}

function nameOf({ url, authorization }: ArchiveRequest): string {
  return createHash('sha256')
    .update(JSON.stringify([url.href, authorization ?? null]))
    .digest('hex');
}

async function hashOf(file: FileHandle): Promise<string> {
  const hash = createHash('sha256');
  for await (const chunk of file.createReadStream({ start: 0, autoClose: false })) hash.update(chunk as Buffer);
  return hash.digest('hex');
}

/** The names of all files in the folders of a folder. */
async function listShards(dir: string): Promise<string[]> {
  const shards = await readFolder(dir);
  return (await Promise.all(shards.map((shard) => readdir(join(dir, shard)).catch(() => [])))).flat();
}

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
