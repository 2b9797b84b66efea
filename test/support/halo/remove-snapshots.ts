import { readHomeId } from '../../../src/queue/redis/connect-redis.ts';
import { openDockerEngine } from '../../../src/sandbox/docker/engine.ts';

/** Removes the snapshots of a HALO_HOME from the engine, which outlive the folder. */
export async function removeSnapshots(home: string): Promise<void> {
  const engine = openDockerEngine();
  for (const volume of await engine.listSnapshotVolumes(await readHomeId(home))) await engine.removeVolume(volume);
}
