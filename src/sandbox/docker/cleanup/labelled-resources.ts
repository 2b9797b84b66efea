import type Docker from 'dockerode';
import { defined } from '../../../lib/guards.ts';
import type { LabelledResource } from '../../sandbox.ts';
import { EXPIRY_LABEL, LABEL } from '../container-spec.ts';
import { engineStatus, toDockerError } from '../docker-errors.ts';

/** Lists the containers and volumes of attempts of one HALO_HOME by their labels; containers first. */
export async function listLabelledResources(docker: Docker, home: string): Promise<LabelledResource[]> {
  const filters = { label: [`${LABEL}.home=${home}`] };
  try {
    const [containers, volumes] = await Promise.all([
      docker.listContainers({ all: true, filters }),
      docker.listVolumes({ filters: JSON.stringify(filters) }),
    ]);
    return [
      ...containers.map(({ Id, Labels }) => toLabelledResource('container', Id, Labels)),
      ...(volumes.Volumes ?? []).map(({ Name, Labels }) => toLabelledResource('volume', Name, Labels)),
    ];
  } catch (error) {
    throw toDockerError(error, 'list the resources of attempts');
  }
}

/** Kills and removes a container, or removes a volume. Safe when it is gone or going. */
export async function removeLabelledResource(
  docker: Docker,
  { kind, name }: Pick<LabelledResource, 'kind' | 'name'>,
): Promise<void> {
  const removal: Promise<unknown> =
    kind === 'container'
      ? docker.getContainer(name).remove({ force: true, v: true })
      : docker.getVolume(name).remove({ force: true });
  await removal.catch((error: unknown) => {
    // 404: gone; 409: it is being removed, or a container still uses the volume: the next sweep removes it.
    if (![404, 409].includes(engineStatus(error) ?? 0)) throw toDockerError(error, `remove a ${kind}`);
  });
}

function toLabelledResource(
  kind: LabelledResource['kind'],
  name: string,
  labels: Record<string, string>,
): LabelledResource {
  return {
    kind,
    name,
    run: labels[`${LABEL}.run`] ?? '',
    storyKey: labels[`${LABEL}.story`] ?? '',
    epoch: Number(labels[`${LABEL}.epoch`]),
    phase: labels[`${LABEL}.phase`] ?? '',
    ...defined({ expiresAt: labels[EXPIRY_LABEL] }),
  };
}
