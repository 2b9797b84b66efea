import { createHash } from 'node:crypto';
import { lstat, rm, utimes } from 'node:fs/promises';
import { join } from 'node:path';
import { isSameEngine, type EngineIdentity } from '../core/engine/engine-identity.ts';
import { RefusedSnapshot, Snapshot } from '../core/snapshot/snapshot.ts';
import { createFolders, readFolder, readIfExists, syncPath, writeAtomic } from '../lib/fs.ts';
import { acquireLock, isLocked, listLocks, LockBusyError, type AcquiredLock } from '../lib/lock.ts';
import { unlessMissing, withDiskErrors } from './disk-errors.ts';
import { isVolumeUsed, useVolume } from './volume-uses.ts';

/** A record of `snapshots/<mirror>/`. */
export interface StoredSnapshot {
  /** The name of the repository's mirror. */
  mirror: string;
  record: Snapshot | RefusedSnapshot;
  /** The only run that may use it, for the commit it was made of, which has not landed; undefined: all runs of the repository. */
  onlyRun: string | undefined;
  /** ms since 1970 */
  usedAt: number;
}

/** Which run asks for the snapshot of which repository on which engine. */
export interface SnapshotQuery {
  engine: EngineIdentity;
  mirror: string;
  key: string;
  runId: string;
  /** The commit of the workspaces. What another commit of the run produced that has not landed does not count. */
  commit: string;
}

const RECORD = /^([0-9a-f]{64})(?:~[0-9a-f]{12})?(?:@([0-9a-z]{8,32}))?\.json$/;

/** Holds the volume of a snapshot that is being built. */
const BUILDER = 'build';
const BUILD = `@${BUILDER}`;

/** How long to wait before asking again whether the caller still wants the lock, in ms. */
const WAIT_MS = 2_000;

/**
 * The records of snapshots in one HALO_HOME: `snapshots/<mirror>/<key>~<engine>.json`, or `<key>~<engine>@<run>.json` if
 * only that run may use it; `<engine>` is absent in old records. A record names a volume that is complete; holders are locks
 * in `uses/`. Every method may throw DISK_FAILED.
 */
export class SnapshotFiles {
  private readonly dir: string;

  constructor(home: string) {
    this.dir = join(home, 'snapshots');
  }

  /** The record that a run may use; undefined without one. Notes that it was used. */
  async find({ engine, mirror, key, runId, commit }: SnapshotQuery): Promise<StoredSnapshot | undefined> {
    return this.withErrors(async () => {
      for (const [of, onlyRun] of [
        [engine, undefined],
        [engine, runId],
        [undefined, undefined],
        [undefined, runId],
      ] as const) {
        const path = this.pathOf({ engine: of, mirror, key, onlyRun });
        const found = await readRecord(path, { engine: of, mirror, key, onlyRun });
        if (found === undefined || (onlyRun !== undefined && !isFor(found, commit))) continue;
        const now = new Date();
        await utimes(path, now, now).catch(unlessMissing);
        return found;
      }
      return undefined;
    });
  }

  /** Keeps a snapshot from being removed until the lock is released. Undefined if it has been removed. */
  async hold({ mirror, record, onlyRun }: StoredSnapshot, holder: string): Promise<AcquiredLock | undefined> {
    if (!('volume' in record)) return undefined;
    const { engine, key, volume } = record;
    return this.withErrors(async () => {
      const lock = await this.use(mirror, volume, holder);
      // Another process may have removed or promoted it before the lock was acquired.
      for (const each of [onlyRun, undefined]) {
        const place = { engine, mirror, key, onlyRun: each };
        const current = (await readRecord(this.pathOf(place), place))?.record;
        if (current !== undefined && 'volume' in current && current.volume === volume) return lock;
      }
      await lock.release();
      return undefined;
    });
  }

  /** Stores a record. Its volume must be complete and synced. */
  async publish({ mirror, record, onlyRun }: Omit<StoredSnapshot, 'usedAt'>): Promise<void> {
    await this.withErrors(async () => {
      await createFolders(join(this.dir, mirror), 0o700);
      await writeAtomic(this.pathOf({ ...record, mirror, onlyRun }), `${JSON.stringify(record, null, 2)}\n`, true);
    });
  }

  /**
   * Makes what setup produced for `commit` in a run available to all runs of the repository, and the data of a service to all of
   * its run. Safe to repeat.
   */
  async promote({ engine, mirror, key, runId, commit }: SnapshotQuery): Promise<void> {
    await this.withErrors(async () => {
      const place = { engine, mirror, key, onlyRun: runId };
      const own = this.pathOf(place);
      const found = await readRecord(own, place);
      if (found?.record.commit !== commit) return;
      const { record } = found;
      if ('service' in record && record.service !== undefined)
        return this.publish({ mirror, record: { ...record, landed: true }, onlyRun: runId });
      // What was read is written, not linked: another story of the run may have replaced the file since.
      if ((await readIfExists(this.pathOf({ ...place, onlyRun: undefined }))) === undefined)
        await this.publish({ mirror, record: found.record, onlyRun: undefined });
      await rm(own, { force: true });
      await syncPath(join(this.dir, mirror)).catch(unlessMissing);
    });
  }

  async list(): Promise<StoredSnapshot[]> {
    return this.withErrors(async () => {
      const found: StoredSnapshot[] = [];
      for (const mirror of await readFolder(this.dir))
        for (const name of await readFolder(join(this.dir, mirror))) {
          const [, key, onlyRun] = RECORD.exec(name) ?? [];
          if (key === undefined) continue;
          const path = join(this.dir, mirror, name);
          const stored = await readRecord(path, { mirror, key, onlyRun });
          // Another name would be written or removed in its place.
          if (stored !== undefined && this.pathOf({ ...stored.record, mirror, onlyRun }) === path) found.push(stored);
        }
      return found;
    });
  }

  /** Removes a record; its volume is then unused. Safe to repeat. */
  async remove({ mirror, record, onlyRun }: Pick<StoredSnapshot, 'mirror' | 'record' | 'onlyRun'>): Promise<void> {
    await this.withErrors(() => rm(this.pathOf({ ...record, mirror, onlyRun }), { force: true }));
  }

  /** Whether a live process holds or builds the volume. */
  async isVolumeInUse(volume: string): Promise<boolean> {
    return this.withErrors(async () => {
      for (const mirror of await readFolder(this.dir))
        if (await isVolumeUsed(join(this.dir, mirror), volume)) return true;
      return false;
    });
  }

  /** How many snapshots are being built, and how many builds ended with their process. */
  async countBuilds(): Promise<{ running: number; interrupted: number }> {
    return this.withErrors(async () => {
      const counts = { running: 0, interrupted: 0 };
      const named = new Set((await this.list()).map(({ record }) => ('volume' in record ? record.volume : '')));
      for (const mirror of await readFolder(this.dir))
        for (const name of await listLocks(join(this.dir, mirror, 'uses'))) {
          if (!name.endsWith(BUILD) || named.has(name.slice(0, -BUILD.length))) continue;
          counts[(await isLocked(join(this.dir, mirror, 'uses', name))) ? 'running' : 'interrupted'] += 1;
        }
      return counts;
    });
  }

  /** Keeps a volume that has no record yet, because it is being built, until the lock is released. */
  async announce(mirror: string, volume: string): Promise<AcquiredLock> {
    return this.withErrors(() => this.use(mirror, volume, BUILDER));
  }

  /** Waits until no other process builds a snapshot. Throws the reason of `signal` when it aborts. */
  async lock(
    place: { engine: EngineIdentity; mirror: string; key: string; onlyRun: string | undefined },
    signal: AbortSignal,
  ): Promise<AcquiredLock> {
    return this.withErrors(async () => {
      const path = `${this.pathOf(place)}.lock`;
      for (;;) {
        signal.throwIfAborted();
        try {
          return await acquireLock(path, { waitMs: WAIT_MS, makeFolder: true });
        } catch (error) {
          if (!(error instanceof LockBusyError)) throw error;
        }
      }
    });
  }

  private async use(mirror: string, volume: string, holder: string): Promise<AcquiredLock> {
    return useVolume(join(this.dir, mirror), volume, holder);
  }

  private pathOf({ engine, mirror, key, onlyRun }: Place): string {
    const ofEngine = engine === undefined ? '' : `~${tagOf(engine)}`;
    return join(this.dir, mirror, `${key}${ofEngine}${onlyRun === undefined ? '' : `@${onlyRun}`}.json`);
  }

  private withErrors<T>(work: () => Promise<T>): Promise<T> {
    return withDiskErrors(this.dir, work);
  }
}

interface Place {
  engine?: EngineIdentity | undefined;
  mirror: string;
  key: string;
  onlyRun: string | undefined;
}

/** Engines choose their ids, so a hash of it is in the names of files. */
function tagOf({ name, id }: EngineIdentity): string {
  return createHash('sha256')
    .update(JSON.stringify([name, id]))
    .digest('hex')
    .slice(0, 12);
}

/** A record that cannot be read counts as a missing one: setup then runs again. */
async function readRecord(path: string, place: Place): Promise<StoredSnapshot | undefined> {
  const text = await readIfExists(path);
  if (text === undefined) return undefined;
  const value = parse(text);
  const record = Snapshot.safeParse(value).data ?? RefusedSnapshot.safeParse(value).data;
  if (record === undefined || record.key !== place.key) return undefined;
  if (place.engine !== undefined && (record.engine === undefined || !isSameEngine(record.engine, place.engine)))
    return undefined;
  const { mirror, onlyRun } = place;
  const usedAt = (await lstat(path).catch(unlessMissing))?.mtimeMs ?? 0;
  return { mirror, onlyRun, record, usedAt };
}

function parse(text: string): unknown {
  try {
    return JSON.parse(text);
  } catch {
    return undefined;
  }
}

/** Whether a record of a run counts for a commit. A refused one only makes setup run, so it counts for all. */
function isFor({ record }: StoredSnapshot, commit: string): boolean {
  return 'refused' in record || record.commit === commit || record.landed === true;
}
