import type Docker from 'dockerode';
import { memoizeAsync } from '../../lib/async.ts';
import type { Mount } from '../sandbox.ts';
import { removeLabelledResource } from './cleanup/labelled-resources.ts';
import { toDockerError } from './docker-errors.ts';
import { TOOLS_DIR, HALO_IMAGE } from './image/halo-image.ts';

/**
 * Provides other images with the tools of halo's image, through a read-only volume that is filled once per version.
 * Takes image ids and returns the mounts that `wanted` needs: none for halo's image itself.
 */
export function openToolsVolume(docker: Docker): (wanted: string, trusted: string) => Promise<Mount[]> {
  const fill = memoizeAsync((volume: string) => fillVolume(docker, volume));
  return async (wanted, trusted) => {
    if (wanted === trusted) return [];
    const volume = `halo-tools-${trusted.replace('sha256:', '').slice(0, 12)}`;
    await fill(volume);
    return [{ kind: 'volume', source: volume, target: TOOLS_DIR, readOnly: true, copyUp: false }];
  };
}

/** Fills a volume: the engine copies the image's folder into an empty volume when it creates a container. */
async function fillVolume(docker: Docker, volume: string): Promise<void> {
  try {
    const container = await docker.createContainer({
      Image: HALO_IMAGE,
      Labels: { 'dev.halo': 'tools' },
      HostConfig: { NetworkMode: 'none', Mounts: [{ Type: 'volume', Source: volume, Target: TOOLS_DIR }] },
    });
    await removeLabelledResource(docker, { kind: 'container', name: container.id });
  } catch (error) {
    throw toDockerError(error, 'fill the volume of tools');
  }
}
