import { randomBytes } from 'node:crypto';
import type Docker from 'dockerode';
import type { SandboxLabels } from '../sandbox.ts';
import { containerLabels } from './container-spec.ts';
import { engineStatus, fromDocker } from './docker-errors.ts';
import { processLabel } from './throwaways.ts';

export interface NewVolume {
  name: string;
  labels: SandboxLabels;
  /** Kept by the engine itself; needs a file system with project quotas. */
  quotaBytes?: number | undefined;
}

/** Creates a volume on the engine's disk. Throws DOCKER_FAILED, DOCKER_UNAVAILABLE. */
export async function createVolume(docker: Docker, { name, labels, quotaBytes }: NewVolume): Promise<void> {
  const quota = quotaBytes === undefined ? {} : { DriverOpts: { size: String(quotaBytes) } };
  await docker.createVolume({ Name: name, Labels: containerLabels(labels), ...quota }).catch((error: unknown) => {
    throw fromDocker(error, 'create a volume');
  });
}

/** Removes a volume; safe when it is not there. */
export async function removeVolume(docker: Docker, name: string): Promise<void> {
  await docker
    .getVolume(name)
    .remove({ force: true })
    .catch((error: unknown) => {
      if (engineStatus(error) !== 404) throw fromDocker(error, 'remove a volume');
    });
}

/** Whether the engine keeps a volume to a size: it refuses to make one where its file system cannot. */
export async function hasQuota(docker: Docker): Promise<boolean> {
  const name = `halo-probe-${randomBytes(6).toString('hex')}`;
  const labels = { run: 'probe', storyKey: 'quota', attempt: 1, phase: 'probe' };
  try {
    const Labels = { ...containerLabels(labels), ...processLabel() };
    await docker.createVolume({ Name: name, Labels, DriverOpts: { size: '67108864' } });
  } catch (error) {
    if (engineStatus(error) === undefined) throw fromDocker(error, 'create a volume');
    return false;
  }
  await removeVolume(docker, name);
  return true;
}
