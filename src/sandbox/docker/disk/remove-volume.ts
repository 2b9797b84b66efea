import { readFile } from 'node:fs/promises';
import { join } from 'node:path';
import type Docker from 'dockerode';
import { shellQuote } from '../../../lib/shell-quote.ts';
import type { SandboxEngine } from '../../sandbox.ts';
import { askSandbox } from '../../one-off-sandbox.ts';
import { USER_LABEL } from '../container-spec.ts';
import { engineStatus, fromDocker } from '../docker-errors.ts';
import { DOCKER_DIR } from '../image/image-recipe.ts';

/** Up to so many levels of folders the engine may remove by itself: it holds a file open for each. */
const MOST_LEVELS = 8_000;
const PROGRAM = '/tmp/empty-volume.mjs';
const MOUNT = '/workspace';
const WALL_MS = 10 * 60_000;

/**
 * Removes a volume with all that is in it; safe when it is not there. `levels` is how deep it can be at most. A deep one is
 * emptied first, in a sandbox of halo's own image, and so is one that the engine cannot remove.
 * Throws DOCKER_FAILED, DOCKER_UNAVAILABLE.
 */
export async function removeVolume(
  { docker, start }: { docker: Docker } & Pick<SandboxEngine, 'start'>,
  name: string,
  levels: number,
): Promise<void> {
  // What cannot be emptied may still be shallow enough for the engine; if not, the next sweep finds it again.
  const empty = () => emptyVolume({ docker, start }, name).catch(ignore);
  if (levels > MOST_LEVELS) await empty();
  try {
    await discardVolume(docker, name);
  } catch (error) {
    if (levels > MOST_LEVELS || engineStatus(error) === undefined || engineStatus(error) === 409) throw asOurs(error);
    await empty();
    await discardVolume(docker, name).catch((again: unknown) => {
      throw asOurs(again);
    });
  }
}

function asOurs(error: unknown): Error {
  return fromDocker(error, 'remove a volume');
}

async function discardVolume(docker: Docker, name: string): Promise<void> {
  await docker
    .getVolume(name)
    .remove({ force: true })
    .catch((error: unknown) => {
      if (engineStatus(error) !== 404) throw error;
    });
}

async function emptyVolume({ docker, start }: { docker: Docker } & Pick<SandboxEngine, 'start'>, name: string) {
  // Asked first, for a container that mounts a volume which is gone makes it anew.
  const { Labels } = await docker.getVolume(name).inspect();
  const user = Number((Labels as Record<string, string> | null)?.[USER_LABEL]);
  if (!(user > 0)) return;
  const program = await readFile(join(DOCKER_DIR, 'empty-volume.mjs'), 'utf8');
  await askSandbox(
    { start },
    {
      about: 'volume',
      user,
      script: `printf %s ${shellQuote(program)} > ${PROGRAM} && exec node ${PROGRAM} ${MOUNT}`,
      mounts: [{ kind: 'volume', source: name, target: MOUNT, readOnly: false, copyUp: false }],
      limits: { cpus: 1, memoryBytes: 256 * 1024 * 1024, pids: 32 },
      wallMs: WALL_MS,
    },
  );
}

function ignore(): void {}
