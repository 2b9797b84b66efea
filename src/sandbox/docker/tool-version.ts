import type Docker from 'dockerode';
import { engineStatus, fromDocker, missingImage } from './docker-errors.ts';
import { TRUSTED_IMAGE, VERSION_LABEL } from './trusted-image.ts';

/** The version of a program in halo's own image, from which every other image has it, too. Throws IMAGE_MISSING. */
export async function readToolVersion(docker: Docker, program: string): Promise<string | undefined> {
  const { Config } = await docker
    .getImage(TRUSTED_IMAGE)
    .inspect()
    .catch((error: unknown) => {
      throw engineStatus(error) === 404 ? missingImage(TRUSTED_IMAGE) : fromDocker(error, 'look for an image');
    });
  return (Config.Labels as Record<string, string> | null)?.[`${VERSION_LABEL}.${program}`];
}
