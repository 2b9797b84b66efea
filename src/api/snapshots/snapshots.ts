import type { SnapshotView } from '../operations/schemas.ts';
import { LOCAL_ENGINE } from '../../core/engine/engine-address.ts';
import { MIRROR_DIGEST } from '../../core/failure/breaker.ts';
import { HaloError } from '../../core/failure/errors.ts';
import { openDockerEngine } from '../../sandbox/docker/engine.ts';
import { SnapshotFiles, type StoredSnapshot } from '../../store/snapshot-files.ts';
import { removeSnapshot } from '../../worker/snapshot/trim-snapshots.ts';

/** The snapshots of a HALO_HOME, the last used first. Throws DISK_FAILED. */
export async function listSnapshots(home: string): Promise<SnapshotView[]> {
  const stored = await new SnapshotFiles(home).list();
  return stored.sort((a, b) => b.usedAt - a.usedAt).map(toView);
}

/**
 * Removes snapshots with their volumes, by the beginnings of their keys; without any, all. Those in use stay. Throws USAGE
 * for an unknown or ambiguous key, DOCKER_UNAVAILABLE.
 */
export async function removeSnapshots(home: string, keys: string[]): Promise<{ removed: string[]; inUse: string[] }> {
  const snapshots = new SnapshotFiles(home);
  const stored = await snapshots.list();
  const wanted = keys.length === 0 ? stored : keys.flatMap((key) => findByKey(stored, key));
  const engine = openDockerEngine();
  const [removed, inUse]: [string[], string[]] = [[], []];
  for (const each of wanted) {
    const isRemoved = await removeSnapshot({ snapshots, engine, engineName: LOCAL_ENGINE }, each);
    (isRemoved ? removed : inUse).push(each.record.key);
  }
  return { removed, inUse };
}

function findByKey(stored: StoredSnapshot[], key: string): StoredSnapshot[] {
  const found = stored.filter(({ record }) => record.key.startsWith(key));
  const hint = 'Run `halo snapshot ls` for the keys.';
  if (found.length === 0)
    throw new HaloError('USAGE', `There is no snapshot ${JSON.stringify(key.slice(0, 64))}.`, { hint });
  if (new Set(found.map(({ record }) => record.key)).size > 1)
    throw new HaloError('USAGE', `${found.length} snapshots begin with ${JSON.stringify(key)}.`, { hint });
  return found;
}

function toView({ mirror, record, onlyRun, usedAt }: StoredSnapshot): SnapshotView {
  const { key, setup, createdAt } = record;
  const shared = {
    key,
    repo: mirror.replace(MIRROR_DIGEST, ''),
    engine: record.engine?.name ?? null,
    setup,
    onlyRun: onlyRun ?? null,
    createdAt,
    usedAt: new Date(usedAt).toISOString(),
  };
  if ('refused' in record) {
    return {
      ...shared,
      state: 'refused',
      reason: record.refused,
      digest: null,
      bytes: 0,
      files: 0,
      inputs: null,
      wholeTree: null,
    };
  }
  const { digest, bytes, files, inputs } = record;
  return {
    ...shared,
    state: 'ready',
    reason: null,
    digest,
    bytes,
    files,
    inputs: Array.isArray(inputs) ? inputs : null,
    wholeTree: Array.isArray(inputs) ? null : inputs.why,
  };
}
