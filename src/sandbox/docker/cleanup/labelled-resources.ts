import type Docker from 'dockerode';
import type { Belonging } from '../../sandbox.ts';
import { LABEL } from '../container-spec.ts';
import { engineStatus, fromDocker } from '../docker-errors.ts';

/** Containers and volumes of attempts of one HALO_HOME, found by label and not by memory; containers first. */
export async function listBelongings(docker: Docker, home: string): Promise<Belonging[]> {
  const filters = { label: [`${LABEL}.home=${home}`] };
  try {
    const [containers, volumes] = await Promise.all([
      docker.listContainers({ all: true, filters }),
      docker.listVolumes({ filters: JSON.stringify(filters) }),
    ]);
    return [
      ...containers.map(({ Id, Labels }) => describe('container', Id, Labels)),
      ...(volumes.Volumes ?? []).map(({ Name, Labels }) => describe('volume', Name, Labels)),
    ];
  } catch (error) {
    throw fromDocker(error, 'list what attempts left');
  }
}

/** Kills and removes a container, or removes a volume. Safe when it is gone or going. */
export async function discardBelonging(
  docker: Docker,
  { kind, name }: Pick<Belonging, 'kind' | 'name'>,
): Promise<void> {
  const removal: Promise<unknown> =
    kind === 'container'
      ? docker.getContainer(name).remove({ force: true, v: true })
      : docker.getVolume(name).remove({ force: true });
  await removal.catch((error: unknown) => {
    // 404: gone; 409: its removal is under way, or a container still holds the volume: the next sweep finds it.
    if (![404, 409].includes(engineStatus(error) ?? 0)) throw fromDocker(error, `remove a ${kind}`);
  });
}

function describe(kind: Belonging['kind'], name: string, labels: Record<string, string>): Belonging {
  return { kind, name, run: labels[`${LABEL}.run`] ?? '', epoch: Number(labels[`${LABEL}.epoch`]) };
}
