import { randomBytes } from 'node:crypto';
import { readFile } from 'node:fs/promises';
import { join } from 'node:path';
import type Docker from 'dockerode';
import { ignore, memoizeAsync } from '../../../lib/async.ts';
import { agentImage } from '../../../core/agent-program.ts';
import { shellQuote } from '../../../lib/text.ts';
import { runOneOffSandbox } from '../../one-off-sandbox.ts';
import type { ImageFacts, KeptVolume, Mount, SandboxEngine, SandboxLabels } from '../../sandbox.ts';
import { containerLabels, EXPIRY_LABEL, LABEL, USER_LABEL } from '../container-spec.ts';
import { engineStatus, toDockerError } from '../docker-client.ts';
import { DOCKER_DIR, HALO_IMAGE, PROGRAM_DIR, TOOLS_DIR } from '../image/image-recipe.ts';
import { processLabel, removeLabelledResource } from '../labelled-resources.ts';

interface NewVolume {
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

/** How much the sockets of a service may take, which have no content. */
const SOCKETS = 'size=64k,nr_inodes=100,nosuid,nodev,noexec,mode=0755';

/** Creates a volume in memory, in which only `user` can create files. Throws DOCKER_FAILED, DOCKER_UNAVAILABLE. */
export async function createSocketVolume(
  docker: Docker,
  { name, labels, user }: { name: string; labels: SandboxLabels; user: number },
): Promise<void> {
  const DriverOpts = { type: 'tmpfs', device: 'tmpfs', o: `${SOCKETS},uid=${user},gid=${user}` };
  const Labels = { ...containerLabels(labels, user), ...processLabel() };
  await docker.createVolume({ Name: name, Driver: 'local', DriverOpts, Labels }).catch((error: unknown) => {
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

/** Label with the id of the HALO_HOME. It differs from that of attempts, whose volumes a sweep removes. */
function homeLabel({ kind }: Pick<KeptVolume, 'kind'>): string {
  return `${LABEL}.${kind}`;
}

/** Throws DOCKER_FAILED, DOCKER_UNAVAILABLE. */
export async function createKeptVolume(
  docker: Docker,
  name: string,
  { kind, home, user, quotaBytes }: KeptVolume & { user: number; quotaBytes?: number | undefined },
): Promise<void> {
  const Labels = { [LABEL]: kind, [homeLabel({ kind })]: home, [USER_LABEL]: String(user) };
  const quota = quotaBytes === undefined ? {} : { DriverOpts: { size: String(quotaBytes) } };
  await docker.createVolume({ Name: name, Labels, ...quota }).catch((error: unknown) => {
    throw toDockerError(error, 'create a volume');
  });
}

/** Throws DOCKER_FAILED, DOCKER_UNAVAILABLE. */
export async function listKeptVolumes(docker: Docker, kept: KeptVolume): Promise<string[]> {
  const filters = JSON.stringify({ label: [`${homeLabel(kept)}=${kept.home}`] });
  const { Volumes } = await docker.listVolumes({ filters }).catch((error: unknown) => {
    throw toDockerError(error, 'list volumes');
  });
  // What is listed may be removed: it must be halo's, also if the engine ignores the filter.
  const own = (Volumes ?? []).filter(({ Labels }) => Labels?.[homeLabel(kept)] === kept.home);
  return own.map(({ Name }) => Name);
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

/** Maximum depth that the engine removes by itself: it keeps a file open for each level. */
const MAX_ENGINE_LEVELS = 8_000;
const PROGRAM = '/tmp/empty-volume.mjs';
const MOUNT = '/workspace';
const WALL_MS = 10 * 60_000;

/**
 * Removes a volume with its contents; safe when it does not exist. `levels` is its maximum depth. Deep volumes, and those
 * that the engine cannot remove, are first emptied in a sandbox of halo's own image.
 * Throws DOCKER_FAILED, DOCKER_UNAVAILABLE.
 */
export async function removeVolume(
  { docker, start }: { docker: Docker } & Pick<SandboxEngine, 'start'>,
  name: string,
  levels: number,
): Promise<void> {
  // A volume that cannot be emptied may still be shallow enough for the engine; otherwise the next sweep retries.
  const empty = () => emptyVolume({ docker, start }, name).catch(ignore);
  if (levels > MAX_ENGINE_LEVELS) await empty();
  try {
    await discardVolume(docker, name);
  } catch (error) {
    if (levels > MAX_ENGINE_LEVELS || engineStatus(error) === undefined || engineStatus(error) === 409)
      throw asOurs(error);
    await empty();
    await discardVolume(docker, name).catch((again: unknown) => {
      throw asOurs(again);
    });
  }
}

function asOurs(error: unknown): Error {
  return toDockerError(error, 'remove a volume');
}

async function discardVolume(docker: Docker, name: string): Promise<void> {
  await docker
    .getVolume(name)
    .remove({ force: true })
    .catch((error: unknown) => {
      if (engineStatus(error) !== 404) throw error;
    });
}

async function emptyVolume({ docker, start }: { docker: Docker } & Pick<SandboxEngine, 'start'>, name: string) {
  // Inspected first: a container that mounts a missing volume would create it again.
  const { Labels, Options } = await docker.getVolume(name).inspect();
  // Its files are those of other volumes, or in memory.
  if (['overlay', 'tmpfs'].includes(Options?.['type'] ?? '')) return;
  const user = Number((Labels as Record<string, string> | null)?.[USER_LABEL]);
  if (!(user > 0)) return;
  const program = await readFile(join(DOCKER_DIR, 'empty-volume.mjs'), 'utf8');
  await runOneOffSandbox(
    { start },
    {
      purpose: 'volume',
      user,
      script: `printf %s ${shellQuote(program)} > ${PROGRAM} && exec node ${PROGRAM} ${MOUNT}`,
      mounts: [{ kind: 'volume', source: name, target: MOUNT, readOnly: false, copyUp: false }],
      limits: { cpus: 1, memoryBytes: 256 * 1024 * 1024, pids: 32 },
      wallMs: WALL_MS,
    },
  );
}

/**
 * Provides other images with the tools of halo's image, through a read-only volume that is filled once per version.
 * Takes image ids and returns the mounts that `wanted` needs: none for halo's image itself.
 */
export function openToolsVolume(docker: Docker): (wanted: string, trusted: string) => Promise<Mount[]> {
  const fill = memoizeAsync((volume: string) => fillVolume(docker, volume, { image: HALO_IMAGE, dir: TOOLS_DIR }));
  return async (wanted, trusted) => {
    if (wanted === trusted) return [];
    const volume = `halo-tools-${trusted.replace('sha256:', '').slice(0, 12)}`;
    await fill(volume);
    return [{ kind: 'volume', source: volume, target: TOOLS_DIR, readOnly: true, copyUp: false }];
  };
}

/**
 * Returns for the program of an agent the read-only volume with it, which is filled once per image, and all other mounts as
 * they are. Throws IMAGE_MISSING if the engine does not have the version.
 */
export function openAgentVolumes(
  docker: Docker,
  lookUp: (image: string) => Promise<Pick<ImageFacts, 'id'>>,
): (mount: Mount) => Promise<Mount> {
  const fillNow = (image: string) => fillVolume(docker, programVolume(image), { image, dir: PROGRAM_DIR });
  const fill = memoizeAsync(fillNow);
  return async (mount) => {
    if (mount.kind !== 'agent') return mount;
    const { id } = await lookUp(agentImage(mount.agent, mount.version));
    await fill(id);
    // The version may have been removed and installed again.
    if (!(await hasVolume(docker, programVolume(id)))) await fillNow(id);
    return { kind: 'volume', source: programVolume(id), target: mount.target, readOnly: true, copyUp: false };
  };
}

/** The name of the volume with the program of an image, which has this id. */
export function programVolume(image: string): string {
  return `halo-agent-${image.replace('sha256:', '').slice(0, 12)}`;
}

/** Fills a volume: the engine copies the image's folder into an empty volume when it creates a container. */
async function fillVolume(
  docker: Docker,
  volume: string,
  { image, dir }: { image: string; dir: string },
): Promise<void> {
  try {
    const container = await docker.createContainer({
      Image: image,
      // It is never started, but an engine asks for a command, also of an image without any.
      Cmd: ['true'],
      Labels: { 'dev.halo': 'tools' },
      HostConfig: { NetworkMode: 'none', Mounts: [{ Type: 'volume', Source: volume, Target: dir }] },
    });
    await removeLabelledResource(docker, { kind: 'container', name: container.id });
  } catch (error) {
    throw toDockerError(error, 'fill the volume of tools');
  }
}
