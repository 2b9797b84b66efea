import {
  createSnapshotVolume,
  createVolume,
  hasVolume,
  listSnapshotVolumes,
  openToolsVolume,
  removeVolume,
  supportsVolumeQuota,
} from './disk/volumes.ts';
import { canOverlay, createOverlay } from './disk/overlay-volume.ts';
import { readExitEvents } from './container-exit-check.ts';
import { HALO_IMAGE, readToolVersion } from './image/image-recipe.ts';
import { listLabelledResources, listOrphans, processLabel, removeLabelledResource } from './labelled-resources.ts';
import { buildContainer, seccompProfile } from './container-spec.ts';
import { prepareSandbox, runCommand, type AttachedContainer } from './run-command.ts';
import { openImageLookup, readAccounts } from './image/image-lookup.ts';
import { canBridge, canMount, canReach } from './channel-probe.ts';
import { openBridge } from './bridge.ts';
import { readEngineInfo, usersInUse } from './engine-info.ts';
import { engineStatus, imageMissing, openDockerClient, toDockerError } from './docker-client.ts';
import { measureVolume, openDiskSpace } from './disk/disk-meter.ts';
import { DiskLimiter, type DiskLimitReason } from './disk/disk-limit.ts';
import { splitFrames } from './demultiplex.ts';
import type { Sandbox, SandboxEngine, SandboxSpec } from '../sandbox.ts';
import { ignore } from '../../lib/async.ts';
import { HaloError } from '../../core/failure/errors.ts';
import type { ContainerCreateOptions } from 'dockerode';
import type Docker from 'dockerode';
import type { Duplex } from 'node:stream';
import { randomBytes } from 'node:crypto';

const ATTACH = { stream: true, hijack: true, stdin: true, stdout: true, stderr: true };

/** Opens the Docker engine that the environment names (DOCKER_HOST, else the local socket). No API version is pinned. */
export function openDockerEngine(docker: Docker = openDockerClient()): SandboxEngine {
  const lookUp = openImageLookup(docker);
  const tools = openToolsVolume(docker);
  const space = openDiskSpace(docker);
  const diskLimiter = new DiskLimiter(space);
  const start = async (spec: SandboxSpec) => {
    const volumes = watchedVolumes(spec);
    const { freeDiskBytes = 0 } = spec.limits;
    if (freeDiskBytes > 0 || volumes.length > 0) await diskLimiter.admit(freeDiskBytes, volumes[0]?.volume);
    const watchDisk =
      volumes.length === 0
        ? undefined
        : (end: (why: DiskLimitReason) => void) => {
            const watched = volumes.map(({ volume, limitBytes }) =>
              diskLimiter.watch({
                volume,
                limitBytes,
                floorBytes: freeDiskBytes,
                measure: (signal) => measureVolume(start, spec, { volume, signal }),
                end,
              }),
            );
            return () => watched.forEach((leave) => leave());
          };
    const [image, trusted, seccomp] = await Promise.all([lookUp(spec.image), lookUp(HALO_IMAGE), seccompProfile()]);
    const mounts = [...(await tools(image, trusted)), ...spec.mounts];
    return startSandbox(docker, spec, { options: buildContainer({ ...spec, image, mounts }, seccomp), watchDisk });
  };
  return {
    start,
    info: () => readEngineInfo(docker),
    createVolume: (name, labels, options) => createVolume(docker, { name, labels, ...options }),
    createSnapshotVolume: (name, owner) => createSnapshotVolume(docker, name, owner),
    hasVolume: (name) => hasVolume(docker, name),
    freeBytes: async () => (await space())?.freeBytes,
    listSnapshotVolumes: (home) => listSnapshotVolumes(docker, home),
    createOverlay: async (overlay, labels) => {
      await createOverlay({ docker, start }, overlay, labels);
      diskLimiter.addOverlay(overlay.name, overlay.upper);
    },
    canOverlay: () => canOverlay({ docker, start }),
    removeVolume: async (name) => removeVolume({ docker, start }, name, await diskLimiter.forget(name)),
    diskLimitMethod: async () =>
      (await supportsVolumeQuota(docker)) ? 'quota' : (await space()) === undefined ? 'sample' : 'watch',
    usersInUse: () => usersInUse(docker),
    toolVersion: (program) => readToolVersion(docker, program),
    listResources: (home) => listLabelledResources(docker, home),
    removeResource: async (belonging) => {
      if (belonging.kind === 'container') return removeLabelledResource(docker, belonging);
      // Its depth is unknown after a restart: the engine tries first, then a sandbox empties it.
      await removeVolume({ docker, start }, belonging.name, 0).catch(unlessInUse);
    },
    listOrphans: () => listOrphans(docker),
    imageId: (name) =>
      lookUp(name).catch((error: unknown) => {
        if (error instanceof HaloError && error.code === 'IMAGE_MISSING') return undefined;
        throw error;
      }),
    accounts: (image) => readAccounts({ start }, image),
    canMount: (dir) => canMount({ start }, dir),
    canReach: (dir, runtime) => canReach({ start }, dir, runtime),
    canBridge: () => canBridge({ start }),
  };
}

/** Returns the writable volumes of a sandbox, if their size is limited. */
function watchedVolumes({ mounts, limits }: SandboxSpec): { volume: string; limitBytes: number }[] {
  const { diskBytes } = limits;
  if (diskBytes === undefined) return [];
  return mounts.flatMap((mount) =>
    mount.kind === 'volume' && !mount.readOnly
      ? [{ volume: mount.source, limitBytes: mount.limitBytes ?? diskBytes }]
      : [],
  );
}

interface Start {
  options: ContainerCreateOptions;
  watchDisk: AttachedContainer['watchDisk'];
}

async function startSandbox(docker: Docker, spec: SandboxSpec, { options, watchDisk }: Start): Promise<Sandbox> {
  const { run, storyKey, attempt, phase } = spec.labels;
  const name = `halo-${run}-${storyKey}-a${attempt}-${phase}-${randomBytes(3).toString('hex')}`;
  // `_query` and `_body`: otherwise dockerode also puts all options into the URL, which proxies truncate and log.
  const body = { ...options, Labels: { ...options.Labels, ...processLabel() } };
  const request = { _query: { name }, _body: body } as ContainerCreateOptions;
  const container = await docker.createContainer(request).catch((error: unknown) => {
    if (engineStatus(error) === 404) throw imageMissing(spec.image);
    throw toDockerError(error, 'create a container');
  });
  const [removing, closing] = [new AbortController(), new AbortController()];
  let stream: Duplex | undefined;
  // The engine keeps connections to containers that never started or were lost; they would keep this process alive.
  const remove = onceOnly(() => {
    removing.abort();
    return removeLabelledResource(docker, { kind: 'container', name: container.id }).finally(() => {
      closing.abort();
      stream?.destroy();
    });
  });
  try {
    // Attach and wait before the start, so that neither output nor an early exit is missed.
    stream = (await container.attach(ATTACH)) as Duplex;
    stream.on('error', ignore);
    const exited = container.wait({ condition: 'next-exit', abortSignal: closing.signal });
    exited.catch(ignore);
    await container.start();
    const pieces = splitFrames(stream);
    const attached: AttachedContainer = {
      container,
      stream,
      output: pieces,
      exited,
      watchDisk,
      removing: removing.signal,
      readExitEvents: () => readExitEvents(docker, container.id),
    };
    return {
      id: container.id,
      prepare: (script, stdin) => prepareSandbox(attached, script, stdin),
      run: (command) => runCommand(attached, command),
      listen: (options) => openBridge(container, options),
      remove,
    };
  } catch (error) {
    await remove().catch(ignore);
    throw toDockerError(error, 'start a container');
  }
}

/** Ignores that a container still uses the volume: the next sweep removes it. */
function unlessInUse(error: HaloError): void {
  if (engineStatus(error.cause) !== 409) throw error;
}

function onceOnly(action: () => Promise<void>): () => Promise<void> {
  let running: Promise<void> | undefined;
  return () => (running ??= action());
}
