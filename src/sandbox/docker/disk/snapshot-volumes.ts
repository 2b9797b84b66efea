import type Docker from 'dockerode';
import { LABEL, USER_LABEL } from '../container-spec.ts';
import { engineStatus, toDockerError } from '../docker-errors.ts';

/** Label with the id of the HALO_HOME. It differs from that of attempts, whose volumes a sweep removes. */
const HOME_LABEL = `${LABEL}.snapshot`;

/** Throws DOCKER_FAILED, DOCKER_UNAVAILABLE. */
export async function createSnapshotVolume(
  docker: Docker,
  name: string,
  { home, user, quotaBytes }: { home: string; user: number; quotaBytes?: number | undefined },
): Promise<void> {
  const Labels = { [LABEL]: 'snapshot', [HOME_LABEL]: home, [USER_LABEL]: String(user) };
  const quota = quotaBytes === undefined ? {} : { DriverOpts: { size: String(quotaBytes) } };
  await docker.createVolume({ Name: name, Labels, ...quota }).catch((error: unknown) => {
    throw toDockerError(error, 'create a volume');
  });
}

/** Throws DOCKER_FAILED, DOCKER_UNAVAILABLE. */
export async function listSnapshotVolumes(docker: Docker, home: string): Promise<string[]> {
  const filters = JSON.stringify({ label: [`${HOME_LABEL}=${home}`] });
  const { Volumes } = await docker.listVolumes({ filters }).catch((error: unknown) => {
    throw toDockerError(error, 'list the volumes of snapshots');
  });
  return ((Volumes as { Name: string }[] | null) ?? []).map(({ Name }) => Name);
}

/** Throws DOCKER_FAILED, DOCKER_UNAVAILABLE. */
export async function hasVolume(docker: Docker, name: string): Promise<boolean> {
  try {
    await docker.getVolume(name).inspect();
    return true;
  } catch (error) {
    if (engineStatus(error) === 404) return false;
    throw toDockerError(error, 'look up a volume');
  }
}
