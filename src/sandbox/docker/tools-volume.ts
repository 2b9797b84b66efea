import type Docker from 'dockerode';
import { askOnce } from '../../lib/ask-once.ts';
import type { Mount } from '../sandbox.ts';
import { discardBelonging } from './cleanup/labelled-resources.ts';
import { fromDocker } from './docker-errors.ts';
import { TOOLS_DIR, TRUSTED_IMAGE } from './trusted-image.ts';

/**
 * Gives a user's image the tools of halo's own, through a read-only volume that is filled once per version.
 * Takes image ids and answers with the mounts that `wanted` needs: none when it is halo's image itself.
 */
export function openTools(docker: Docker): (wanted: string, trusted: string) => Promise<Mount[]> {
  const fill = askOnce((volume: string) => fillVolume(docker, volume));
  return async (wanted, trusted) => {
    if (wanted === trusted) return [];
    const volume = `halo-tools-${trusted.replace('sha256:', '').slice(0, 12)}`;
    await fill(volume);
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
    await discardBelonging(docker, { kind: 'container', name: container.id });
  } catch (error) {
    throw fromDocker(error, 'fill the volume of tools');
  }
}
