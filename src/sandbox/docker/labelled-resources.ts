import type Docker from 'dockerode';
import { defined } from '../../lib/guards.ts';
import { isOrphaned, MAX_FOREIGN_CHECK_MS, processMark } from '../../lib/process-identity.ts';
import { PROCESS_OWNED, type LabelledResource } from '../sandbox.ts';
import { EXPIRY_LABEL, LABEL } from './container-spec.ts';
import { engineStatus, toDockerError } from './docker-client.ts';

/** Lists the containers and volumes of attempts of one HALO_HOME by their labels; containers first. */
export async function listLabelledResources(docker: Docker, home: string): Promise<LabelledResource[]> {
  const found = await listByLabel(docker, `${LABEL}.home=${home}`);
  return found.map(({ kind, name, labels }) => toLabelledResource(kind, name, labels));
}

/** A container or volume with all of its labels. */
interface FoundResource {
  kind: LabelledResource['kind'];
  name: string;
  labels: Record<string, string>;
  /** Unix time in ms; NaN if the engine does not report it. */
  madeMs: number;
}

/** Lists the containers and volumes with a label (`name=value`); containers first. Throws DOCKER_FAILED, DOCKER_UNAVAILABLE. */
async function listByLabel(docker: Docker, label: string): Promise<FoundResource[]> {
  const filters = { label: [label] };
  const listed = Promise.all([
    docker.listContainers({ all: true, filters }),
    docker.listVolumes({ filters: JSON.stringify(filters) }),
  ]);
  const [containers, { Volumes: volumes }] = await listed.catch((error: unknown) => {
    throw toDockerError(error, 'list containers and volumes');
  });
  const found = [
    ...containers.map(({ Id, Labels, Created }) => ({
      kind: 'container' as const,
      name: Id,
      labels: Labels ?? {},
      madeMs: Created * 1000,
    })),
    ...(volumes ?? []).map((volume) => ({
      kind: 'volume' as const,
      name: volume.Name,
      labels: volume.Labels ?? {},
      madeMs: Date.parse((volume as { CreatedAt?: string }).CreatedAt ?? ''),
    })),
  ];
  // What is listed may be removed: it must be halo's, also if the engine ignores the filter.
  const [name = '', value] = label.split('=');
  return found.filter(({ labels }) => labels[name] !== undefined && (value === undefined || labels[name] === value));
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

/** The process that a sandbox or volume belongs to. */
const PROCESS_LABEL = `${LABEL}.process`;

/** Label of every sandbox and volume, except those of snapshots: identifies those whose process has died. */
export const processLabel = (): Record<string, string> => ({ [PROCESS_LABEL]: processMark() });

/** What belongs to a process and not to a run: probes and other one-off sandboxes; checks. */
const OWNED = [
  { label: `${LABEL}.run=probe`, maxAgeMs: undefined },
  { label: `${LABEL}.home=${PROCESS_OWNED}`, maxAgeMs: MAX_FOREIGN_CHECK_MS },
];

/** Lists containers and volumes of probes and checks whose process has died; containers first. */
export async function listOrphans(docker: Docker): Promise<Pick<LabelledResource, 'kind' | 'name'>[]> {
  const listed = await Promise.all(
    OWNED.map(async ({ label, maxAgeMs }) =>
      (await listByLabel(docker, label)).filter(({ labels, madeMs }) =>
        isOrphaned(labels[PROCESS_LABEL] ?? '', madeMs, maxAgeMs),
      ),
    ),
  );
  const dead = listed.flat();
  const ofKind = (wanted: LabelledResource['kind']) =>
    dead.flatMap(({ kind, name }) => (kind === wanted ? [{ kind, name }] : []));
  return [...ofKind('container'), ...ofKind('volume')];
}
