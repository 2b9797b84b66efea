import type { Config } from '../../config/config.ts';
import { readHostFile } from '../../config/host-rules.ts';
import type { StoredSnapshot } from '../../store/snapshot-files.ts';
import { trimObjects } from '../objects/trim-objects.ts';
import type { WorkerContext } from '../worker-context.ts';

type SnapshotContext = Pick<WorkerContext, 'snapshots' | 'engine' | 'engineName' | 'engineFacts' | 'homeId' | 'log'>;
type RoomContext = SnapshotContext & Pick<WorkerContext, 'home' | 'now'>;

/** Limits of all snapshots of a HALO_HOME on one engine together. */
type TrimLimits = Pick<Config, 'snapshot' | 'limits'>;

/** `snapshot.max_size` and `limits.free_disk` of `config.toml`. Throws CONFIG_INVALID. */
export async function readSnapshotLimits(home: string): Promise<TrimLimits> {
  return (await readHostFile(home)).config;
}

/**
 * The limits by which an attempt removes snapshots: those of its HALO_HOME. A repository, whose configuration applies to its
 * attempts, must not remove the snapshots of others. Without a valid `config.toml`, the attempt removes none.
 */
export async function trimForAttempt(worker: RoomContext, trim: typeof makeRoom | typeof trimSnapshots): Promise<void> {
  const limits = await readSnapshotLimits(worker.home).catch((error: unknown) => {
    worker.log.warn({ err: error }, 'snapshots stay: their limits are unknown');
  });
  if (limits !== undefined) await trim(worker, limits);
}

/** Removes snapshots and objects of repositories if the engine's disk is short, before anything else is written to it. Throws DOCKER_UNAVAILABLE. */
export async function makeRoom(worker: RoomContext, limits: TrimLimits): Promise<void> {
  if (!(await isShort(worker, limits))) return;
  await trimSnapshots(worker, limits);
  await trimObjects(worker, { isShort: await isShort(worker, limits) });
}

/**
 * Removes the snapshots that were not used for the longest time until all of the engine are within `snapshot.max_size` and
 * its disk has the free space that `limits.free_disk` demands. Snapshots in use stay.
 */
export async function trimSnapshots(worker: SnapshotContext, limits: TrimLimits): Promise<void> {
  const own = await findOwn(worker);
  const stored = own.sort((a, b) => a.usedAt - b.usedAt);
  let total = stored.reduce((sum, { record }) => sum + bytesOf(record), 0);
  for (const each of stored) {
    if (!('volume' in each.record)) continue;
    if (total <= limits.snapshot.maxBytes && !(await isShort(worker, limits))) break;
    if (!(await removeSnapshot(worker, each))) continue;
    worker.log.info({ mirror: each.mirror, key: each.record.key }, 'removed a snapshot to save space');
    total -= bytesOf(each.record);
  }
  await removeUnusedVolumes(worker);
}

/**
 * The snapshots of the worker's engine. Removes the records of an engine that had its name and is another one: their volumes
 * are lost. Old records, which name no engine, are those of the engine that has their volumes.
 */
async function findOwn(worker: SnapshotContext): Promise<StoredSnapshot[]> {
  const [facts, all] = await Promise.all([worker.engineFacts(), worker.snapshots.list()]);
  const volumes = all.some(({ record }) => record.engine === undefined)
    ? await worker.engine.listKeptVolumes({ kind: 'snapshot', home: worker.homeId })
    : [];
  const own: StoredSnapshot[] = [];
  let lost = 0;
  for (const each of all) {
    const { engine } = each.record;
    if (engine?.name === facts.name && engine.id !== facts.id) {
      await worker.snapshots.remove(each);
      lost += 1;
    } else if (engine?.name === facts.name) own.push(each);
    else if (engine === undefined && 'volume' in each.record && volumes.includes(each.record.volume)) own.push(each);
  }
  if (lost > 0)
    worker.log.warn({ engine: facts.name, lost }, 'another engine has this name now: its snapshots are lost');
  return own;
}

export async function isShort({ engine }: Pick<WorkerContext, 'engine'>, { limits }: TrimLimits): Promise<boolean> {
  const free = await engine.freeBytes();
  return free !== undefined && free < limits.freeDiskBytes;
}

/**
 * Removes a snapshot with its volume, which a worker of its engine removes later if that is another one. Returns false if it
 * is in use.
 */
export async function removeSnapshot(
  worker: Pick<WorkerContext, 'snapshots' | 'engine' | 'engineName'>,
  stored: StoredSnapshot,
): Promise<boolean> {
  const { record } = stored;
  if (!('volume' in record)) return worker.snapshots.remove(stored).then(() => true);
  if (await worker.snapshots.isVolumeInUse(record.volume)) return false;
  await worker.snapshots.remove(stored);
  if ((record.engine?.name ?? worker.engineName) !== worker.engineName) return true;
  // A user that came in between keeps the volume; a later sweep removes it.
  if (!(await worker.snapshots.isVolumeInUse(record.volume))) await worker.engine.removeVolume(record.volume);
  return true;
}

/** Removes volumes that no record names: their build was interrupted, or they were removed while in use. */
async function removeUnusedVolumes(worker: SnapshotContext): Promise<void> {
  // Listed first: a volume that is published meanwhile is in the records.
  const volumes = await worker.engine.listKeptVolumes({ kind: 'snapshot', home: worker.homeId });
  const named = new Set(
    (await worker.snapshots.list()).flatMap(({ record }) => ('volume' in record ? [record.volume] : [])),
  );
  for (const volume of volumes) {
    if (named.has(volume) || (await worker.snapshots.isVolumeInUse(volume))) continue;
    worker.log.info({ volume }, 'removing the volume of an unfinished snapshot');
    await worker.engine.removeVolume(volume).catch((error: unknown) => {
      worker.log.warn({ volume, err: error }, 'the volume could not be removed');
    });
  }
}

function bytesOf(record: StoredSnapshot['record']): number {
  return 'volume' in record ? record.bytes : 0;
}
