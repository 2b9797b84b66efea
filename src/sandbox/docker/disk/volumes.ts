import { randomBytes } from 'node:crypto';
import type Docker from 'dockerode';
import type { SandboxLabels } from '../../sandbox.ts';
import { discardBelonging } from '../cleanup/labelled-resources.ts';
import { containerLabels } from '../container-spec.ts';
import { engineStatus, fromDocker } from '../docker-errors.ts';
import { processLabel } from '../cleanup/orphan-probes.ts';

export interface NewVolume {
  name: string;
  labels: SandboxLabels;
  /** Whose files will be in it. */
  user: number;
  /** Kept by the engine itself; needs a file system with project quotas. */
  quotaBytes?: number | undefined;
}

/** Creates a volume on the engine's disk. Throws DOCKER_FAILED, DOCKER_UNAVAILABLE. */
export async function createVolume(docker: Docker, { name, labels, user, quotaBytes }: NewVolume): Promise<void> {
  const quota = quotaBytes === undefined ? {} : { DriverOpts: { size: String(quotaBytes) } };
  await docker.createVolume({ Name: name, Labels: containerLabels(labels, user), ...quota }).catch((error: unknown) => {
    throw fromDocker(error, 'create a volume');
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
  await discardBelonging(docker, { kind: 'volume', name });
  return true;
}
