import { findSurplusVolumes } from '../../core/engine/objects-plan.ts';
import { ObjectsVolumeFiles } from '../../store/objects-volume-files.ts';
import type { WorkerContext } from '../worker-context.ts';

/**
 * Removes volumes with objects of repositories from the engine: those that were not used for long, all unused ones if its
 * disk is short, and those that no record names, because their mirror has been removed or their transfer was interrupted.
 * Throws DOCKER_UNAVAILABLE, DISK_FAILED.
 */
export async function trimObjects(
  worker: Pick<WorkerContext, 'home' | 'homeId' | 'engine' | 'engineFacts' | 'log' | 'now'>,
  { isShort }: { isShort: boolean },
): Promise<void> {
  const { engine, home, homeId, log } = worker;
  const files = new ObjectsVolumeFiles(home, await worker.engineFacts());
  // Listed first: a volume that is published meanwhile is in the records.
  const volumes = await engine.listKeptVolumes({ kind: 'objects', home: homeId });
  const stored = await files.listAll();
  const facts = await Promise.all(
    stored.map(async (each) => ({ ...each, isInUse: await files.isInUse(each.record.volume) })),
  );
  for (const each of findSurplusVolumes(facts, { now: worker.now(), isShort })) await files.remove(each);
  const named = await files.listNamed();
  for (const volume of volumes) {
    if (named.has(volume) || (await files.isInUse(volume))) continue;
    log.info({ volume }, 'removing a volume with objects of a repository');
    await engine.removeVolume(volume).catch((error: unknown) => {
      log.warn({ volume, err: error }, 'the volume could not be removed');
    });
  }
}
