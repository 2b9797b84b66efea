import { randomBytes } from 'node:crypto';
import type { Duplex } from 'node:stream';
import Docker, { type ContainerCreateOptions } from 'dockerode';
import { HaloError } from '../../core/errors.ts';
import type { EngineFacts, Sandbox, SandboxEngine, SandboxLabels, SandboxSpec } from '../sandbox.ts';
import { buildContainer, containerLabels } from './container-spec.ts';
import { splitFrames } from './demultiplex.ts';
import { engineStatus, fromDocker, missingImage } from './docker-errors.ts';
import { canMount } from './mount-probe.ts';
import { openImageLookup } from './known-image.ts';
import { prepareSandbox, runCommand, type Attached } from './run-command.ts';
import { seccompProfile } from './seccomp.ts';
import { openTools } from './tools-volume.ts';
import { TRUSTED_IMAGE } from './trusted-image.ts';

const ATTACH = { stream: true, hijack: true, stdin: true, stdout: true, stderr: true };

/** Opens the Docker engine that the environment names (DOCKER_HOST, else the local socket). No API version is pinned. */
export function openDocker(docker: Docker = new Docker()): SandboxEngine {
  const lookUp = openImageLookup(docker);
  const tools = openTools(docker);
  const start = async (spec: SandboxSpec) => {
    const [image, trusted, seccomp] = await Promise.all([lookUp(spec.image), lookUp(TRUSTED_IMAGE), seccompProfile()]);
    const mounts = [...(await tools(image, trusted)), ...spec.mounts];
    return startSandbox(docker, spec, buildContainer({ ...spec, image, mounts }, seccomp));
  };
  return {
    start,
    facts: () => readFacts(docker),
    createVolume: (name, labels) => createVolume(docker, name, labels),
    removeVolume: (name) => removeVolume(docker, name),
    imageId: (name) =>
      lookUp(name).catch((error: unknown) => {
        if (error instanceof HaloError && error.code === 'IMAGE_MISSING') return undefined;
        throw error;
      }),
    canMount: (dir) => canMount({ start }, dir),
  };
}

interface Info {
  ServerVersion: string;
  CgroupVersion?: string;
  Driver: string;
  DockerRootDir: string;
  Runtimes?: Record<string, unknown>;
  Warnings?: string[] | null;
}

async function readFacts(docker: Docker): Promise<EngineFacts> {
  const info = (await docker.info().catch((error: unknown) => {
    throw fromDocker(error, 'tell about itself');
  })) as Info;
  return {
    version: info.ServerVersion,
    cgroupVersion: info.CgroupVersion ?? '1',
    storageDriver: info.Driver,
    rootDir: info.DockerRootDir,
    runtimes: Object.keys(info.Runtimes ?? {}),
    warnings: info.Warnings ?? [],
  };
}

async function startSandbox(docker: Docker, spec: SandboxSpec, options: ContainerCreateOptions): Promise<Sandbox> {
  const { run, storyKey, attempt, phase } = spec.labels;
  const name = `halo-${run}-${storyKey}-a${attempt}-${phase}-${randomBytes(3).toString('hex')}`;
  const container = await docker.createContainer({ name, ...options }).catch((error: unknown) => {
    if (engineStatus(error) === 404) throw missingImage(spec.image);
    throw fromDocker(error, 'create a container');
  });
  const remove = onceOnly(() => removeContainer(docker, container.id));
  try {
    // Attached and waited for before the start, so that neither output nor a quick end is missed.
    const stream = (await container.attach(ATTACH)) as Duplex;
    stream.on('error', ignore);
    const exited = container.wait({ condition: 'next-exit' });
    exited.catch(ignore);
    await container.start();
    const attached: Attached = { container, stream, pieces: splitFrames(stream), exited };
    return {
      id: container.id,
      prepare: (script) => prepareSandbox(attached, script),
      run: (command) => runCommand(attached, command),
      remove,
    };
  } catch (error) {
    await remove();
    throw fromDocker(error, 'start a container');
  }
}

async function removeContainer(docker: Docker, id: string): Promise<void> {
  await docker
    .getContainer(id)
    .remove({ force: true, v: true })
    .catch((error: unknown) => {
      // 404: gone; 409: its removal is under way.
      if (![404, 409].includes(engineStatus(error) ?? 0)) throw fromDocker(error, 'remove a container');
    });
}

async function createVolume(docker: Docker, name: string, labels: SandboxLabels): Promise<void> {
  await docker.createVolume({ Name: name, Labels: containerLabels(labels) }).catch((error: unknown) => {
    throw fromDocker(error, 'create a volume');
  });
}

async function removeVolume(docker: Docker, name: string): Promise<void> {
  await docker
    .getVolume(name)
    .remove({ force: true })
    .catch((error: unknown) => {
      if (engineStatus(error) !== 404) throw fromDocker(error, 'remove a volume');
    });
}

function onceOnly(action: () => Promise<void>): () => Promise<void> {
  let running: Promise<void> | undefined;
  return () => (running ??= action());
}

function ignore(): void {}
