import type Docker from 'dockerode';
import { isOrphaned, processMark } from '../../../lib/process-identity.ts';
import { removeLabelledResource } from './labelled-resources.ts';
import { LABEL } from '../container-spec.ts';
import { toDockerError } from '../docker-errors.ts';

/** The process that a sandbox or volume belongs to. */
const PROCESS_LABEL = `${LABEL}.process`;

/** Label of every sandbox, and of the volumes of probes: identifies those whose process has died. */
export const processLabel = (): Record<string, string> => ({ [PROCESS_LABEL]: processMark() });

/** Removes one-off sandboxes and volumes of probes whose process has died. */
export async function removeOrphanProbes(docker: Docker): Promise<void> {
  for (const { kind, name, labels, madeMs } of await listProbes(docker)) {
    if (isOrphaned(labels[PROCESS_LABEL] ?? '', madeMs)) await removeLabelledResource(docker, { kind, name });
  }
}

interface ProbeResource {
  kind: 'container' | 'volume';
  name: string;
  labels: Record<string, string>;
  /** Unix time in ms; NaN if the engine does not report it. */
  madeMs: number;
}

async function listProbes(docker: Docker): Promise<ProbeResource[]> {
  const filters = { label: [`${LABEL}.run=probe`] };
  const listed = Promise.all([
    docker.listContainers({ all: true, filters }),
    docker.listVolumes({ filters: JSON.stringify(filters) }),
  ]);
  const [containers, { Volumes: volumes }] = await listed.catch((error: unknown) => {
    throw toDockerError(error, 'list the resources of probes');
  });
  return [
    ...containers.map(({ Id, Labels, Created }) => ({
      kind: 'container' as const,
      name: Id,
      labels: Labels,
      madeMs: Created * 1000,
    })),
    ...(volumes ?? []).map((volume) => ({
      kind: 'volume' as const,
      name: volume.Name,
      labels: volume.Labels,
      madeMs: Date.parse((volume as { CreatedAt?: string }).CreatedAt ?? ''),
    })),
  ];
}
