import {
  createKeptVolume,
  createSocketVolume,
  createVolume,
  hasVolume,
  listKeptVolumes,
  openAgentVolumes,
  openToolsVolume,
  removeVolume,
  supportsVolumeQuota,
} from './disk/volumes.ts';
import { canOverlay, createOverlay } from './disk/overlay-volume.ts';
import { readExitEvents } from './container-exit-check.ts';
import { listVersions, removeVersion } from './image/agent-image.ts';
import { HALO_IMAGE, readToolVersion } from './image/image-recipe.ts';
import { listLabelledResources, listOrphans, processLabel, removeLabelledResource } from './labelled-resources.ts';
import { buildContainer, seccompProfile } from './container-spec.ts';
import { prepareSandbox, runCommand, type AttachedContainer } from './run-command.ts';
import { assertNoVolumes, openImageLookup, readAccounts } from './image/image-lookup.ts';
import { tmpdir } from 'node:os';
import { canBridge, canMount, canReach } from './channel-probe.ts';
import { openBridge } from './bridge.ts';
import { runOnTerminal } from './terminal.ts';
import { readEngineInfo, readOpenFiles, usersInUse } from './engine-info.ts';
import { closeDockerClient, engineStatus, imageMissing, openDockerClient, toDockerError } from './docker-client.ts';
import { measureVolume, openDiskSpace, openRemoteSpace } from './disk/disk-meter.ts';
import { DiskLimiter, type DiskLimitReason } from './disk/disk-limit.ts';
import { splitFrames } from './demultiplex.ts';
import type { ImageFacts, Sandbox, SandboxEngine, SandboxSpec } from '../sandbox.ts';
import type { EngineAddress } from '../../core/engine/engine-address.ts';
import { ignore, memoizeAsync } from '../../lib/async.ts';
import { HaloError } from '../../core/failure/errors.ts';
import type { ContainerCreateOptions } from 'dockerode';
import type Docker from 'dockerode';
import type { Duplex } from 'node:stream';
import { randomBytes } from 'node:crypto';

const ATTACH = { stream: true, hijack: true, stdin: true, stdout: true, stderr: true };

interface EngineOptions {
  deadlineMs?: number;
  /** Whether the engine sees the folders of this machine; default: a probe of the one for temporary files. */
  isHere?: () => Promise<boolean>;
}

/**
 * Opens a Docker engine; default: the one that the environment names (DOCKER_HOST, else the local socket). No API version
 * is pinned. An address does not say where the engine runs, since a socket can be forwarded: `isHere` decides whether the
 * disk and the processes of this machine are the engine's.
 */
export function openDockerEngine(at?: EngineAddress, options: EngineOptions = {}): SandboxEngine {
  const docker = openDockerClient(at, options);
  const lookUp = openImageLookup(docker);
  const tools = openToolsVolume(docker);
  const programs = openAgentVolumes(docker, lookUp);
  const sharesTmp = memoizeAsync(() => canMount({ start }, tmpdir()));
  const { isHere = () => sharesTmp(undefined) } = options;
  const space = openDiskSpace(docker, isHere);
  const diskLimiter = new DiskLimiter(space, () => remoteSpace());
  const helpers = new VolumeUses();
  const start = async (spec: SandboxSpec): Promise<Sandbox> => {
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
    assertNoVolumes(
      spec.image,
      image,
      spec.mounts.map(({ target }) => target),
    );
    const mounts = [...(await tools(image.id, trusted.id)), ...(await Promise.all(spec.mounts.map(programs)))];
    const depth = await diskLimiter.depthRequest(writableFolders(spec));
    const options = buildContainer({ ...spec, image: image.id, mounts }, seccomp);
    const started = { options, watchDisk, depth, isHere };
    return startSandbox(docker, spec, started);
  };
  const remoteSpace = openRemoteSpace({ start });
  const find = async (name: string): Promise<ImageFacts | undefined> => {
    const image = await lookUp(name).catch(undefinedIfMissing);
    if (image !== undefined) assertNoVolumes(name, image);
    return image;
  };
  return {
    start,
    info: () => readEngineInfo(docker),
    createVolume: (name, labels, options) => createVolume(docker, { name, labels, ...options }),
    createSocketVolume: (name, labels, options) => createSocketVolume(docker, { name, labels, ...options }),
    createKeptVolume: (name, kept) => createKeptVolume(docker, name, kept),
    hasVolume: (name) => hasVolume(docker, name),
    freeBytes: async () => (await space())?.freeBytes ?? remoteSpace(),
    isHere,
    openFiles: async () => ((await isHere()) ? readOpenFiles() : undefined),
    listKeptVolumes: (kept) => listKeptVolumes(docker, kept),
    createOverlay: async (overlay, labels) => {
      const removing = (removed: Promise<void>) => helpers.use([overlay.upper, overlay.lower], removed);
      await createOverlay({ docker, start, removing }, overlay, labels);
      diskLimiter.addOverlay(overlay.name, overlay.upper);
    },
    canOverlay: () => canOverlay({ docker, start }),
    // One after the other: what empties a volume uses it.
    removeVolume: (name) =>
      helpers.inTurn(name, async () => {
        await helpers.unused(name);
        await removeVolume({ docker, start }, name, await diskLimiter.forget(name));
      }),
    diskLimitMethod: async () =>
      (await supportsVolumeQuota(docker)) ? 'quota' : (await space()) === undefined ? 'sample' : 'watch',
    usersInUse: () => usersInUse(docker),
    toolVersion: (program) => readToolVersion(docker, program),
    agentVersions: () => listVersions(docker),
    removeAgentVersion: (id, version) => removeVersion(docker, id, version),
    listResources: (home) => listLabelledResources(docker, home),
    removeResource: async (belonging) => {
      if (belonging.kind === 'container') return removeLabelledResource(docker, belonging);
      // Its depth is unknown after a restart: the engine tries first, then a sandbox empties it.
      const remove = () => removeVolume({ docker, start }, belonging.name, 0);
      await helpers.inTurn(belonging.name, remove).catch(unlessInUse);
    },
    listOrphans: () => listOrphans(docker),
    imageId: async (name) => (await find(name))?.id,
    imageContent: async (name) => (await find(name))?.content,
    describeImage: (name) => lookUp(name).catch(undefinedIfMissing),
    accounts: (image) => readAccounts({ start }, image),
    canMount: (dir) => canMount({ start }, dir),
    canReach: (dir, runtime) => canReach({ start }, dir, runtime),
    canBridge: () => canBridge({ start }),
    close: () => closeDockerClient(docker),
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

/** The folders of a sandbox that are writable volumes, with their names; none for root, who could end other sandboxes. */
function writableFolders({ mounts, user }: SandboxSpec): Map<string, string> {
  if (user === 0) return new Map();
  return new Map(
    mounts.flatMap((mount) => (mount.kind === 'volume' && !mount.readOnly ? [[mount.target, mount.source]] : [])),
  );
}

interface Start extends Pick<AttachedContainer, 'watchDisk' | 'depth' | 'isHere'> {
  options: ContainerCreateOptions;
}

async function startSandbox(
  docker: Docker,
  spec: SandboxSpec,
  { options, watchDisk, depth, isHere }: Start,
): Promise<Sandbox> {
  const { run, storyKey, attempt, phase } = spec.labels;
  const name = `halo-${run}-${storyKey}-a${attempt}-${phase}-${randomBytes(3).toString('hex')}`;
  // `_query` and `_body`: otherwise dockerode also puts all options into the URL, which proxies truncate and log.
  const body = { ...options, Labels: { ...options.Labels, ...processLabel() } };
  const request = { _query: { name }, _body: body } as ContainerCreateOptions;
  const container = await docker.createContainer(request).catch((error: unknown) => {
    if (engineStatus(error) === 404) throw imageMissing(spec.image, error);
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
      depth,
      isHere,
      removing: removing.signal,
      readExitEvents: () => readExitEvents(docker, container.id),
    };
    return {
      id: container.id,
      prepare: (script, stdin) => prepareSandbox(attached, script, stdin),
      run: (command) => runCommand(attached, command),
      runOnTerminal: (script, terminal) => runOnTerminal(container, script, terminal),
      listen: (options) => openBridge(container, options),
      remove,
    };
  } catch (error) {
    await remove().catch(ignore);
    throw toDockerError(error, 'start a container');
  }
}

function undefinedIfMissing(error: unknown): undefined {
  if (!(error instanceof HaloError) || error.code !== 'IMAGE_MISSING') throw error;
}

/** Ignores that a container still uses the volume: the next sweep removes it. */
function unlessInUse(error: HaloError): void {
  if (engineStatus(error.cause) !== 409) throw error;
}

/** Which volumes are used by sandboxes that are being removed: the engine refuses to remove them until then. */
class VolumeUses {
  private readonly ending = new Map<string, Set<Promise<void>>>();
  /** None of them rejects. */
  private readonly turns = new Map<string, Promise<void>>();

  /** `removed` never rejects. */
  use(volumes: readonly string[], removed: Promise<void>): void {
    for (const volume of volumes) {
      const uses = this.ending.get(volume) ?? new Set();
      this.ending.set(volume, uses.add(removed));
      void removed.then(() => uses.delete(removed) && uses.size === 0 && this.ending.delete(volume));
    }
  }

  async unused(volume: string): Promise<void> {
    await Promise.all([...(this.ending.get(volume) ?? [])]);
  }

  /** Runs `work` when what came before it for the volume has ended, however it ended. */
  inTurn(volume: string, work: () => Promise<void>): Promise<void> {
    const done = (this.turns.get(volume) ?? Promise.resolve()).then(work);
    const over = done.catch(ignore).then(() => void (this.turns.get(volume) === over && this.turns.delete(volume)));
    this.turns.set(volume, over);
    return done;
  }
}

function onceOnly(action: () => Promise<void>): () => Promise<void> {
  let running: Promise<void> | undefined;
  return () => (running ??= action());
}
