import type Docker from 'dockerode';
import { HaloError } from '../../../core/failure/errors.ts';
import { AGENT_HOME } from '../container-spec.ts';
import { engineStatus, fromDocker, missingImage } from '../docker-errors.ts';

/** How long the id behind a name is trusted to be the same: an image may be built again while a worker runs. */
const FRESH_MS = 10_000;

/** Folders that a sandbox covers with mounts of its own, so that a VOLUME there has no effect. */
const COVERED = ['/workspace', '/tmp', '/run', AGENT_HOME];

/**
 * Looks up the id behind an image's name, so that a sandbox starts from exactly the image that was checked.
 * Throws IMAGE_MISSING, and CONFIG_INVALID for an image that declares a VOLUME, which no limit of ours would cover.
 */
export function openImageLookup(docker: Docker): (name: string) => Promise<string> {
  const known = new Map<string, { at: number; id: Promise<string> }>();
  return (name) => {
    const found = known.get(name);
    if (found !== undefined && performance.now() - found.at < FRESH_MS) return found.id;
    const id = inspectImage(docker, name);
    known.set(name, { at: performance.now(), id });
    // A missing image may be there on the next try.
    id.catch(() => known.delete(name));
    return id;
  };
}

async function inspectImage(docker: Docker, name: string): Promise<string> {
  const { Id, Config } = await docker
    .getImage(name)
    .inspect()
    .catch((error: unknown) => {
      throw engineStatus(error) === 404 ? missingImage(name) : fromDocker(error, 'look for an image');
    });
  refuseVolumes(name, Object.keys(Config.Volumes ?? {}));
  return Id;
}

function refuseVolumes(name: string, volumes: string[]): void {
  const uncovered = volumes.filter((path) => !COVERED.includes(path.replace(/(?<!\/)\/+$/, '')));
  if (uncovered.length === 0) return;
  throw new HaloError('CONFIG_INVALID', `the image ${JSON.stringify(name)} declares VOLUME ${uncovered.join(', ')}`, {
    hint: 'nothing would limit what is written there: use an image without VOLUME, or build one from its parent',
  });
}
