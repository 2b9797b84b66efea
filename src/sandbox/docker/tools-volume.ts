import type Docker from 'dockerode';
import type { Mount } from '../sandbox.ts';
import { engineStatus, fromDocker, missingImage } from './docker-errors.ts';
import { TOOLS_DIR, TRUSTED_IMAGE } from './trusted-image.ts';

/**
 * Gives a user's image the tools of halo's own, through a read-only volume that is filled once per version.
 * Answers with the mounts that `image` needs: none when it is halo's image itself.
 */
export function openTools(docker: Docker): (image: string) => Promise<Mount[]> {
  const known = new Map<string, Promise<Mount[]>>();
  return (image) => {
    const mounts = known.get(image) ?? findMounts(docker, image);
    known.set(image, mounts);
    // A missing image may be there on the next try.
    mounts.catch(() => known.delete(image));
    return mounts;
  };
}

async function findMounts(docker: Docker, image: string): Promise<Mount[]> {
  if (image === TRUSTED_IMAGE) return [];
  const [trusted, wanted] = await Promise.all([imageId(docker, TRUSTED_IMAGE), imageId(docker, image)]);
  if (trusted === wanted) return [];
  const volume = `halo-tools-${trusted.replace('sha256:', '').slice(0, 12)}`;
  await fillVolume(docker, volume);
  return [{ kind: 'volume', source: volume, target: TOOLS_DIR, readOnly: true, copyUp: false }];
}

async function imageId(docker: Docker, image: string): Promise<string> {
  try {
    return (await docker.getImage(image).inspect()).Id;
  } catch (error) {
    throw engineStatus(error) === 404 ? missingImage(image) : fromDocker(error, 'look for an image');
  }
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
