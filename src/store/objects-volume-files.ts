import { createHash } from 'node:crypto';
import { lstat, rm, utimes } from 'node:fs/promises';
import { join } from 'node:path';
import { z } from 'zod';
import type { EngineIdentity } from '../core/engine/engine-identity.ts';
import { createFolders, readFolder, readIfExists, writeAtomic } from '../lib/fs.ts';
import { acquireLock, LockBusyError, type AcquiredLock } from '../lib/lock.ts';
import { tryParseJson } from '../lib/parse-json.ts';
import { unlessMissing, withDiskErrors } from './disk-errors.ts';
import { isVolumeUsed, useVolume } from './volume-uses.ts';

const objectId = z.string().regex(/^(?:[0-9a-f]{40}|[0-9a-f]{64})$/);

/** A volume of an engine with the history of one commit, and nothing else. Stored as one file. */
export const ObjectsVolume = z.object({
  v: z.literal(1),
  /** The name of the engine; absent in old records. */
  engine: z.string().optional(),
  volume: z.string().regex(/^halo-objects-[0-9a-f-]{1,100}$/),
  commit: objectId,
  /** Annotated tags that it has, too. */
  tags: z.array(objectId),
  /** Which mirror it was made from: see `readBoundary`. */
  boundary: z.string(),
  bytes: z.number().nonnegative(),
  /** ISO 8601 */
  createdAt: z.string(),
});
export type ObjectsVolume = z.infer<typeof ObjectsVolume>;

export interface StoredObjectsVolume {
  /** The name of the repository's mirror. */
  mirror: string;
  record: ObjectsVolume;
  /** ms since 1970 */
  usedAt: number;
}

/** How long to wait before asking again whether the caller still wants the lock, in ms. */
const WAIT_MS = 2_000;

/**
 * The records of the volumes with objects of repositories that one engine has: `repos/<mirror>/engines/<engine>/<commit>.json`,
 * which are removed with the mirror. A record names a volume that is complete; holders are locks in `uses/`. Every method
 * may throw DISK_FAILED.
 */
export class ObjectsVolumeFiles {
  private readonly repos: string;
  private readonly engine: string;

  /** What the engine reports as its id is not trusted. */
  constructor(home: string, { name, id }: EngineIdentity) {
    this.repos = join(home, 'repos');
    this.engine = createHash('sha256')
      .update(JSON.stringify([name, id]))
      .digest('hex')
      .slice(0, 16);
  }

  /** Those of a mirror. */
  async list(mirror: string): Promise<StoredObjectsVolume[]> {
    return this.withErrors(async () => {
      const found = await readRecords(this.dirOf(mirror));
      return found.map((each) => ({ mirror, ...each }));
    });
  }

  /** Those of all mirrors. */
  async listAll(): Promise<StoredObjectsVolume[]> {
    return (await Promise.all((await readFolder(this.repos)).map((mirror) => this.list(mirror)))).flat();
  }

  /** The volumes that records of any engine name: one engine can have two names, as `local` and in config.toml. */
  async listNamed(): Promise<Set<string>> {
    return this.withErrors(async () => {
      const named = (await Promise.all((await listFolders(this.repos)).map(readRecords))).flat();
      return new Set(named.map(({ record }) => record.volume));
    });
  }

  /** Keeps a volume until the lock is released, and notes that it was used. Undefined if it has been removed. */
  async hold({ mirror, record }: StoredObjectsVolume, holder: string): Promise<AcquiredLock | undefined> {
    return this.withErrors(async () => {
      const lock = await useVolume(this.dirOf(mirror), record.volume, holder);
      const [path, now] = [this.pathOf(mirror, record), new Date()];
      const current = await read(path);
      if (current?.record.volume === record.volume) {
        await utimes(path, now, now).catch(unlessMissing);
        return lock;
      }
      await lock.release();
      return undefined;
    });
  }

  /** Keeps a volume that has no record yet until the lock is released. */
  async announce(mirror: string, volume: string): Promise<AcquiredLock> {
    return this.withErrors(() => useVolume(this.dirOf(mirror), volume, 'fill'));
  }

  /** Stores a record. Its volume must be complete. */
  async publish(mirror: string, record: ObjectsVolume): Promise<void> {
    await this.withErrors(async () => {
      await createFolders(this.dirOf(mirror), 0o700);
      await writeAtomic(this.pathOf(mirror, record), `${JSON.stringify(record)}\n`, true);
    });
  }

  /** Removes a record; its volume is then unused. Safe to repeat. */
  async remove({ mirror, record }: Pick<StoredObjectsVolume, 'mirror' | 'record'>): Promise<void> {
    await this.withErrors(async () => {
      const path = this.pathOf(mirror, record);
      // Another process may have made another one since.
      if ((await read(path))?.record.volume === record.volume) await rm(path, { force: true });
    });
  }

  /** Whether a live process holds or fills the volume. */
  async isInUse(volume: string): Promise<boolean> {
    return this.withErrors(async () => {
      for (const dir of await listFolders(this.repos)) if (await isVolumeUsed(dir, volume)) return true;
      return false;
    });
  }

  /** Waits until no other process fills a volume for the repository. Throws the reason of `signal` when it aborts. */
  async lock(mirror: string, signal: AbortSignal): Promise<AcquiredLock> {
    return this.withErrors(async () => {
      for (;;) {
        signal.throwIfAborted();
        try {
          return await acquireLock(join(this.dirOf(mirror), 'fill.lock'), { waitMs: WAIT_MS, makeFolder: true });
        } catch (error) {
          if (!(error instanceof LockBusyError)) throw error;
        }
      }
    });
  }

  private dirOf(mirror: string): string {
    return join(this.repos, mirror, 'engines', this.engine);
  }

  private pathOf(mirror: string, { commit }: Pick<ObjectsVolume, 'commit'>): string {
    return join(this.dirOf(mirror), `${commit}.json`);
  }

  private withErrors<T>(work: () => Promise<T>): Promise<T> {
    return withDiskErrors(this.repos, work);
  }
}

/** Removes all records of an engine's volumes, whichever machine had its name. Throws DISK_FAILED. */
export async function forgetObjectsVolumes(home: string, engine: string): Promise<void> {
  const repos = join(home, 'repos');
  await withDiskErrors(repos, async () => {
    for (const dir of await listFolders(repos))
      if ((await readRecords(dir)).some(({ record }) => record.engine === engine))
        await rm(dir, { recursive: true, force: true });
  });
}

/** The folders with records of all mirrors and engines. */
async function listFolders(repos: string): Promise<string[]> {
  const mirrors = (await readFolder(repos)).map((mirror) => join(repos, mirror, 'engines'));
  return (await Promise.all(mirrors.map(async (dir) => (await readFolder(dir)).map((name) => join(dir, name))))).flat();
}

async function readRecords(dir: string): Promise<Omit<StoredObjectsVolume, 'mirror'>[]> {
  const found = await Promise.all((await readFolder(dir)).map((name) => read(join(dir, name))));
  return found.filter((each) => each !== undefined);
}

/** A record that cannot be read counts as a missing one: the objects are sent again. */
async function read(path: string): Promise<Omit<StoredObjectsVolume, 'mirror'> | undefined> {
  if (!path.endsWith('.json')) return undefined;
  const text = await readIfExists(path);
  const record = text === undefined ? undefined : ObjectsVolume.safeParse(tryParseJson(text)).data;
  if (record === undefined || !path.endsWith(`/${record.commit}.json`)) return undefined;
  const usedAt = (await lstat(path).catch(unlessMissing))?.mtimeMs ?? 0;
  return { record, usedAt };
}
