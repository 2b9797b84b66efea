import { readFile } from 'node:fs/promises';
import type Docker from 'dockerode';
import { isOlderVersion } from '../../lib/version.ts';
import type { EngineInfo } from '../sandbox.ts';
import { LABEL, USER_LABEL } from './container-spec.ts';
import { toDockerError } from './docker-client.ts';

interface Info {
  ID?: string;
  ServerVersion: string;
  KernelVersion?: string;
  Architecture?: string;
  CgroupVersion?: string;
  Driver: string;
  DockerRootDir: string;
  Runtimes?: Record<string, unknown>;
  DefaultRuntime?: string;
  SecurityOptions?: string[] | null;
  Warnings?: string[] | null;
}

interface Version {
  ApiVersion?: string;
  Components?: { Name: string; Version: string }[] | null;
}

/** The engine chooses it, and it is written into every journal. */
const MAX_ID = 100;

/** Reads the engine's version and properties. Throws DOCKER_UNAVAILABLE, DOCKER_FAILED. */
export async function readEngineInfo(docker: Docker): Promise<EngineInfo> {
  const [info, version] = (await Promise.all([docker.info(), docker.version()]).catch((error: unknown) => {
    throw toDockerError(error, 'report its version');
  })) as [Info, Version];
  return {
    id: (info.ID ?? '').slice(0, MAX_ID),
    version: info.ServerVersion,
    apiVersion: version.ApiVersion ?? '',
    architecture: architectureOf(info.Architecture ?? ''),
    kernel: info.KernelVersion ?? '',
    runc: version.Components?.find(({ Name }) => Name === 'runc')?.Version,
    cgroupVersion: info.CgroupVersion ?? '1',
    storageDriver: info.Driver,
    rootDir: info.DockerRootDir,
    runtimes: Object.keys(info.Runtimes ?? {}),
    configuration: JSON.stringify([endpointOf(docker), info.DefaultRuntime, info.Runtimes]),
    security: (info.SecurityOptions ?? []).flatMap((option) => /^name=([^,]+)/.exec(option)?.[1] ?? []),
    warnings: info.Warnings ?? [],
  };
}

/** The socket or address of the engine. */
function endpointOf({ modem }: Docker): unknown {
  const { socketPath, protocol, host, port } = modem as unknown as Record<string, unknown>;
  return [socketPath, protocol, host, port];
}

/** Engines report what `uname -m` prints. */
function architectureOf(machine: string): string {
  return { x86_64: 'x64', amd64: 'x64', aarch64: 'arm64' }[machine] ?? machine;
}

/** The pid file of an engine on this machine. */
const PID_FILE = '/var/run/docker.pid';

/** The engine's limit of open files, if it runs on this machine. */
export async function readOpenFiles(): Promise<number | undefined> {
  try {
    const pid = Number(await readFile(PID_FILE, 'utf8'));
    return parseOpenFiles(await readFile(`/proc/${pid}/limits`, 'utf8'));
  } catch {
    return undefined;
  }
}

/** The soft limit of open files in a `/proc/<pid>/limits`; Infinity when there is none. */
export function parseOpenFiles(limits: string): number | undefined {
  const soft = /^Max open files +(\d+|unlimited) /m.exec(limits)?.[1];
  return soft === 'unlimited' ? Infinity : soft === undefined ? undefined : Number(soft);
}

/** Returns the user ids of all sandboxes on the engine, from their labels. Throws DOCKER_UNAVAILABLE, DOCKER_FAILED. */
export async function usersInUse(docker: Docker): Promise<Set<number>> {
  const filters = { label: [`${LABEL}=sandbox`] };
  const containers = await docker.listContainers({ all: true, filters }).catch((error: unknown) => {
    throw toDockerError(error, 'list its containers');
  });
  return new Set(containers.map(({ Labels }) => Number(Labels[USER_LABEL])).filter((user) => user > 0));
}

/** The API version of Docker Engine 20.10, the oldest version with everything that isolates a sandbox. */
const MIN_API_VERSION = '1.41';

/** Returns a hint for an engine that is too old, else undefined. Only the API version counts: compatible engines have versions of their own. */
export function findUpgradeHint({ apiVersion }: Pick<EngineInfo, 'apiVersion'>): string | undefined {
  if (!isOlderVersion(apiVersion, MIN_API_VERSION)) return undefined;
  return `halo needs Docker Engine 20.10 or newer, or another engine that speaks API ${MIN_API_VERSION}`;
}
