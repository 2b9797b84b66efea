import type Docker from 'dockerode';
import type { Mount } from '../sandbox.ts';
import { fromDocker } from './docker-errors.ts';
import { TOOLS_DIR, TRUSTED_IMAGE } from './trusted-image.ts';

/**
 * Gives a user's image the tools of halo's own, through a read-only volume that is filled once per version.
 * Takes image ids and answers with the mounts that `wanted` needs: none when it is halo's image itself.
 */
export function openTools(docker: Docker): (wanted: string, trusted: string) => Promise<Mount[]> {
  const filled = new Map<string, Promise<void>>();
  return async (wanted, trusted) => {
    if (wanted === trusted) return [];
    const volume = `halo-tools-${trusted.replace('sha256:', '').slice(0, 12)}`;
    const filling = filled.get(volume) ?? fillVolume(docker, volume);
    filled.set(volume, filling);
    filling.catch(() => filled.delete(volume));
    await filling;
    return [{ kind: 'volume', source: volume, target: TOOLS_DIR, readOnly: true, copyUp: false }];
  };
}

/** An empty volume takes over the image's folder when a container is created with it; nothing has to run. */
async function fillVolume(docker: Docker, volume: string): Promise<void> {
  try {
    const container = await docker.createContainer({
      Image: TRUSTED_IMAGE,
      Labels: { 'dev.halo': 'tools' },
      HostConfig: { NetworkMode: 'none', Mounts: [{ Type: 'volume', Source: volume, Target: TOOLS_DIR }] },
    });
    await container.remove({ force: true });
  } catch (error) {
    throw fromDocker(error, 'fill the volume of tools');
  }
}
