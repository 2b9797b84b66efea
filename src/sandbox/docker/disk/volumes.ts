import { randomBytes } from 'node:crypto';
import type Docker from 'dockerode';
import type { SandboxLabels } from '../../sandbox.ts';
import { removeLabelledResource } from '../cleanup/labelled-resources.ts';
import { containerLabels, EXPIRY_LABEL } from '../container-spec.ts';
import { engineStatus, toDockerError } from '../docker-errors.ts';
import { processLabel } from '../cleanup/orphans.ts';

export interface NewVolume {
  name: string;
  labels: SandboxLabels;
  /** User id of the owner of its files. */
  user: number;
  /** Enforced by the engine; requires a file system with project quotas. */
  quotaBytes?: number | undefined;
  /** ISO 8601 */
  expiresAt?: string | undefined;
}

/** Creates a volume on the engine's disk. Throws DOCKER_FAILED, DOCKER_UNAVAILABLE. */
export async function createVolume(docker: Docker, volume: NewVolume): Promise<void> {
  const { name, labels, user, quotaBytes, expiresAt } = volume;
  const quota = quotaBytes === undefined ? {} : { DriverOpts: { size: String(quotaBytes) } };
  const Labels = {
    ...containerLabels(labels, user),
    ...processLabel(),
    ...(expiresAt === undefined ? {} : { [EXPIRY_LABEL]: expiresAt }),
  };
  await docker.createVolume({ Name: name, Labels, ...quota }).catch((error: unknown) => {
    throw toDockerError(error, 'create a volume');
  });
}

/** Whether the engine supports volume quotas: it refuses to create such a volume if its file system does not. */
export async function supportsVolumeQuota(docker: Docker): Promise<boolean> {
  const name = `halo-probe-${randomBytes(6).toString('hex')}`;
  const labels = { run: 'probe', storyKey: 'quota', attempt: 1, phase: 'probe' };
  try {
    const Labels = { ...containerLabels(labels), ...processLabel() };
    await docker.createVolume({ Name: name, Labels, DriverOpts: { size: '67108864' } });
  } catch (error) {
    if (engineStatus(error) === undefined) throw toDockerError(error, 'create a volume');
    return false;
  }
  await removeLabelledResource(docker, { kind: 'volume', name });
  return true;
}
