import { randomBytes } from 'node:crypto';
import type { Duplex } from 'node:stream';
import type Docker from 'dockerode';
import type { ContainerCreateOptions } from 'dockerode';
import { HaloError } from '../../core/failure/errors.ts';
import { askOnce } from '../../lib/ask-once.ts';
import type { Sandbox, SandboxEngine, SandboxSpec } from '../sandbox.ts';
import { readAccounts } from './accounts.ts';
import { openClient } from './docker-client.ts';
import { buildContainer } from './container-spec.ts';
import { discardBelonging, listBelongings } from './cleanup/labelled-resources.ts';
import { splitFrames } from './demultiplex.ts';
import { openDiskGuard, type DiskEnd } from './disk-guard.ts';
import { measureVolume } from './disk/disk-meter.ts';
import { openSpace } from './disk/disk-space.ts';
import { engineStatus, fromDocker, missingImage } from './docker-errors.ts';
import { readFacts, usersInUse } from './engine-info.ts';
import { openBridge } from './bridge.ts';
import { canMount } from './mount-probe.ts';
import { canBridge, canReach } from './channel-probe.ts';
import { openImageLookup } from './image/image-lookup.ts';
import { removeVolume } from './disk/remove-volume.ts';
import { prepareSandbox, runCommand, type Attached } from './run-command.ts';
import { seccompProfile } from './seccomp.ts';
import { discardThrowaways, processLabel } from './cleanup/orphan-probes.ts';
import { readToolVersion } from './tool-version.ts';
import { openTools } from './tools-volume.ts';
import { TRUSTED_IMAGE } from './trusted-image.ts';
import { remembersEnd } from './container-exit-check.ts';
import { createVolume, hasQuota } from './disk/volumes.ts';

const ATTACH = { stream: true, hijack: true, stdin: true, stdout: true, stderr: true };

/** Opens the Docker engine that the environment names (DOCKER_HOST, else the local socket). No API version is pinned. */
export function openDocker(docker: Docker = openClient()): SandboxEngine {
  const lookUp = openImageLookup(docker);
  const tools = openTools(docker);
  const space = openSpace(docker);
  const guard = openDiskGuard(space);
  const accountsOf = askOnce((id: string) => readAccounts({ start }, id));
  const accounts = async (image: string) => accountsOf(await lookUp(image));
  const start = async (spec: SandboxSpec) => {
    const volume = watchedVolume(spec);
    const { diskBytes = Infinity, freeDiskBytes = 0 } = spec.limits;
    if (freeDiskBytes > 0 || volume !== undefined) await guard.admit(freeDiskBytes, volume);
    const watchDisk =
      volume === undefined
        ? undefined
        : (end: (why: DiskEnd) => void) =>
            guard.watch({
              volume,
              limitBytes: diskBytes,
              floorBytes: freeDiskBytes,
              measure: (signal) => measureVolume(start, spec, { volume, signal }),
              end,
            });
    const [image, trusted, seccomp] = await Promise.all([lookUp(spec.image), lookUp(TRUSTED_IMAGE), seccompProfile()]);
    const mounts = [...(await tools(image, trusted)), ...spec.mounts];
    return startSandbox(docker, spec, { options: buildContainer({ ...spec, image, mounts }, seccomp), watchDisk });
  };
  return {
    start,
    facts: () => readFacts(docker),
    createVolume: (name, labels, options) => createVolume(docker, { name, labels, ...options }),
    removeVolume: async (name) => removeVolume({ docker, start }, name, await guard.forget(name)),
    diskRung: async () => ((await hasQuota(docker)) ? 'quota' : (await space()) === undefined ? 'sample' : 'watch'),
    usersInUse: () => usersInUse(docker),
    toolVersion: (program) => readToolVersion(docker, program),
    belongings: (home) => listBelongings(docker, home),
    discard: async (belonging) => {
      if (belonging.kind === 'container') return discardBelonging(docker, belonging);
      // How deep it is was known to a process that is gone: the engine tries, and where it cannot, a sandbox helps.
      await removeVolume({ docker, start }, belonging.name, 0).catch(unlessInUse);
    },
    discardThrowaways: () => discardThrowaways(docker),
    imageId: (name) =>
      lookUp(name).catch((error: unknown) => {
        if (error instanceof HaloError && error.code === 'IMAGE_MISSING') return undefined;
        throw error;
      }),
    accounts,
    canMount: (dir) => canMount({ start }, dir),
    canReach: (dir, runtime) => canReach({ start }, dir, runtime),
    canBridge: () => canBridge({ start }),
  };
}

/** The volume that a sandbox can write to, when its size is limited. */
function watchedVolume({ mounts, limits }: SandboxSpec): string | undefined {
  if (limits.diskBytes === undefined) return undefined;
  return mounts.find((mount) => mount.kind === 'volume' && !mount.readOnly)?.source;
}

interface Start {
  options: ContainerCreateOptions;
  watchDisk: Attached['watchDisk'];
}

async function startSandbox(docker: Docker, spec: SandboxSpec, { options, watchDisk }: Start): Promise<Sandbox> {
  const { run, storyKey, attempt, phase } = spec.labels;
  const name = `halo-${run}-${storyKey}-a${attempt}-${phase}-${randomBytes(3).toString('hex')}`;
  // dockerode would put all of it into the address as well, which proxies cut and keep in their logs.
  const body = { ...options, Labels: { ...options.Labels, ...processLabel() } };
  const request = { _query: { name }, _body: body } as ContainerCreateOptions;
  const container = await docker.createContainer(request).catch((error: unknown) => {
    if (engineStatus(error) === 404) throw missingImage(spec.image);
    throw fromDocker(error, 'create a container');
  });
  const closing = new AbortController();
  let stream: Duplex | undefined;
  // The engine keeps the connections to a container that has never started, or that it lost: this process would never end.
  const remove = onceOnly(() =>
    discardBelonging(docker, { kind: 'container', name: container.id }).finally(() => {
      closing.abort();
      stream?.destroy();
    }),
  );
  try {
    // Attached and waited for before the start, so that neither output nor a quick end is missed.
    stream = (await container.attach(ATTACH)) as Duplex;
    stream.on('error', ignore);
    const exited = container.wait({ condition: 'next-exit', abortSignal: closing.signal });
    exited.catch(ignore);
    await container.start();
    const pieces = splitFrames(stream);
    const witnessed = () => remembersEnd(docker, container.id);
    const attached: Attached = { container, stream, pieces, exited, watchDisk, witnessed };
    return {
      id: container.id,
      prepare: (script, stdin) => prepareSandbox(attached, script, stdin),
      run: (command) => runCommand(attached, command),
      listen: (door) => openBridge(container, door),
      remove,
    };
  } catch (error) {
    await remove().catch(ignore);
    throw fromDocker(error, 'start a container');
  }
}

/** A container still holds the volume: the next sweep finds it. */
function unlessInUse(error: HaloError): void {
  if (engineStatus(error.cause) !== 409) throw error;
}

function onceOnly(action: () => Promise<void>): () => Promise<void> {
  let running: Promise<void> | undefined;
  return () => (running ??= action());
}

function ignore(): void {}
