import type Docker from 'dockerode';
import { HaloError } from '../../../core/failure/errors.ts';
import { AGENT_HOME } from '../../sandbox.ts';
import { engineStatus, toDockerError, imageMissing } from '../docker-errors.ts';

/** How long an id is cached: an image may be rebuilt while a worker runs. */
const FRESH_MS = 10_000;

/** Folders that every sandbox covers with its own mounts, so that a VOLUME there has no effect. */
const COVERED = ['/workspace', '/tmp', '/run', AGENT_HOME];

/**
 * Looks up the id of an image name, so that a sandbox starts from exactly the image that was checked. Throws IMAGE_MISSING,
 * and CONFIG_INVALID for an image that declares a VOLUME, because no limit would apply to it.
 */
export function openImageLookup(docker: Docker): (name: string) => Promise<string> {
  const known = new Map<string, { at: number; id: Promise<string> }>();
  return (name) => {
    const found = known.get(name);
    if (found !== undefined && performance.now() - found.at < FRESH_MS) return found.id;
    const id = inspectImage(docker, name);
    known.set(name, { at: performance.now(), id });
    // Do not cache failures: the image may exist on the next try.
    id.catch(() => known.delete(name));
    return id;
  };
}

async function inspectImage(docker: Docker, name: string): Promise<string> {
  const { Id, Config } = await docker
    .getImage(name)
    .inspect()
    .catch((error: unknown) => {
      throw engineStatus(error) === 404 ? imageMissing(name) : toDockerError(error, 'look for an image');
    });
  assertNoVolumes(name, Object.keys(Config.Volumes ?? {}));
  return Id;
}

function assertNoVolumes(name: string, volumes: string[]): void {
  const uncovered = volumes.filter((path) => !COVERED.includes(path.replace(/(?<!\/)\/+$/, '')));
  if (uncovered.length === 0) return;
  throw new HaloError('CONFIG_INVALID', `The image ${JSON.stringify(name)} declares VOLUME ${uncovered.join(', ')}.`, {
    hint: 'Use an image without VOLUME, or build one from its parent: halo cannot limit the size of such a volume.',
  });
}
