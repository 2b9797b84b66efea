import { readFile } from 'node:fs/promises';
import { join } from 'node:path';
import type Docker from 'dockerode';
import { shellQuote } from '../../../lib/text.ts';
import type { SandboxEngine } from '../../sandbox.ts';
import { runOneOffSandbox } from '../../one-off-sandbox.ts';
import { USER_LABEL } from '../container-spec.ts';
import { engineStatus, toDockerError } from '../docker-errors.ts';
import { DOCKER_DIR } from '../image/image-recipe.ts';
import { ignore } from '../../../lib/async.ts';

/** Maximum depth that the engine removes by itself: it keeps a file open for each level. */
const MAX_ENGINE_LEVELS = 8_000;
const PROGRAM = '/tmp/empty-volume.mjs';
const MOUNT = '/workspace';
const WALL_MS = 10 * 60_000;

/**
 * Removes a volume with its contents; safe when it does not exist. `levels` is its maximum depth. Deep volumes, and those
 * that the engine cannot remove, are first emptied in a sandbox of halo's own image.
 * Throws DOCKER_FAILED, DOCKER_UNAVAILABLE.
 */
export async function removeVolume(
  { docker, start }: { docker: Docker } & Pick<SandboxEngine, 'start'>,
  name: string,
  levels: number,
): Promise<void> {
  // A volume that cannot be emptied may still be shallow enough for the engine; otherwise the next sweep retries.
  const empty = () => emptyVolume({ docker, start }, name).catch(ignore);
  if (levels > MAX_ENGINE_LEVELS) await empty();
  try {
    await discardVolume(docker, name);
  } catch (error) {
    if (levels > MAX_ENGINE_LEVELS || engineStatus(error) === undefined || engineStatus(error) === 409)
      throw asOurs(error);
    await empty();
    await discardVolume(docker, name).catch((again: unknown) => {
      throw asOurs(again);
    });
  }
}

function asOurs(error: unknown): Error {
  return toDockerError(error, 'remove a volume');
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
  // Inspected first: a container that mounts a missing volume would create it again.
  const { Labels, Options } = await docker.getVolume(name).inspect();
  // Its files are those of other volumes.
  if (Options?.['type'] === 'overlay') return;
  const user = Number((Labels as Record<string, string> | null)?.[USER_LABEL]);
  if (!(user > 0)) return;
  const program = await readFile(join(DOCKER_DIR, 'empty-volume.mjs'), 'utf8');
  await runOneOffSandbox(
    { start },
    {
      purpose: 'volume',
      user,
      script: `printf %s ${shellQuote(program)} > ${PROGRAM} && exec node ${PROGRAM} ${MOUNT}`,
      mounts: [{ kind: 'volume', source: name, target: MOUNT, readOnly: false, copyUp: false }],
      limits: { cpus: 1, memoryBytes: 256 * 1024 * 1024, pids: 32 },
      wallMs: WALL_MS,
    },
  );
}
