import type Docker from 'dockerode';
import { isLeftBehind, markProcess } from '../../../lib/process-identity.ts';
import { discardBelonging } from './labelled-resources.ts';
import { LABEL } from '../container-spec.ts';
import { fromDocker } from '../docker-errors.ts';

/** Which process waits for a sandbox. */
const PROCESS_LABEL = `${LABEL}.process`;

/** On every sandbox, for those that belong to no run, and on the volumes of probes. */
export const processLabel = (): Record<string, string> => ({ [PROCESS_LABEL]: markProcess() });

/** Removes throwaway sandboxes (sandbox/throwaway.ts) and volumes of probes whose process died before it could. */
export async function discardThrowaways(docker: Docker): Promise<void> {
  for (const { kind, name, labels, madeMs } of await listThrowaways(docker)) {
    if (isLeftBehind(labels[PROCESS_LABEL] ?? '', madeMs)) await discardBelonging(docker, { kind, name });
  }
}

interface Throwaway {
  kind: 'container' | 'volume';
  name: string;
  labels: Record<string, string>;
  /** ms since 1970; NaN where the engine does not tell. */
  madeMs: number;
}

async function listThrowaways(docker: Docker): Promise<Throwaway[]> {
  const filters = { label: [`${LABEL}.run=probe`] };
  const listed = Promise.all([
    docker.listContainers({ all: true, filters }),
    docker.listVolumes({ filters: JSON.stringify(filters) }),
  ]);
  const [containers, { Volumes: volumes }] = await listed.catch((error: unknown) => {
    throw fromDocker(error, 'list what probes left');
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
