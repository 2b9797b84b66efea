import type Docker from 'dockerode';
import { engineStatus, imageMissing, toDockerError } from '../docker-errors.ts';

/** halo's own image: prepares and exports workspaces, and is the default for all other phases. */
export const HALO_IMAGE = 'halo-sandbox';

/** The folder in that image with the agents, `wait` and `forward`; other images get it through a volume. */
export const TOOLS_DIR = '/opt/halo';

/** Prefix of the labels with the versions of the programs in that image: `dev.halo.version.codex`. */
export const VERSION_LABEL = 'dev.halo.version';

/** Returns the version of a program in halo's image, which all other images share. Throws IMAGE_MISSING. */
export async function readToolVersion(docker: Docker, program: string): Promise<string | undefined> {
  const { Config } = await docker
    .getImage(HALO_IMAGE)
    .inspect()
    .catch((error: unknown) => {
      throw engineStatus(error) === 404 ? imageMissing(HALO_IMAGE) : toDockerError(error, 'look for an image');
    });
  return (Config.Labels as Record<string, string> | null)?.[`${VERSION_LABEL}.${program}`];
}
