import { readHomeId } from '../../../src/queue/redis/connect-redis.ts';
import { openDockerEngine } from '../../../src/sandbox/docker/engine.ts';

/** Removes the volumes of a HALO_HOME that outlive the folder from the engine. */
export async function removeSnapshots(home: string): Promise<void> {
  const engine = openDockerEngine();
  const id = await readHomeId(home);
  for (const kind of ['snapshot', 'objects'] as const)
    for (const volume of await engine.listKeptVolumes({ kind, home: id })) await engine.removeVolume(volume);
}
