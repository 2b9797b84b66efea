import { readFile } from 'node:fs/promises';
import type Docker from 'dockerode';
import type { EngineFacts } from '../sandbox.ts';
import { LABEL, USER_LABEL } from './container-spec.ts';
import { fromDocker } from './docker-errors.ts';

interface Info {
  ID?: string;
  ServerVersion: string;
  KernelVersion?: string;
  CgroupVersion?: string;
  Driver: string;
  DockerRootDir: string;
  Runtimes?: Record<string, unknown>;
  SecurityOptions?: string[] | null;
  Warnings?: string[] | null;
}

interface Version {
  ApiVersion?: string;
  Components?: { Name: string; Version: string }[] | null;
}

/** What the engine says of itself. Throws DOCKER_UNAVAILABLE, DOCKER_FAILED. */
export async function readFacts(docker: Docker): Promise<EngineFacts> {
  const [info, version] = (await Promise.all([docker.info(), docker.version()]).catch((error: unknown) => {
    throw fromDocker(error, 'tell about itself');
  })) as [Info, Version];
  return {
    id: info.ID ?? '',
    version: info.ServerVersion,
    apiVersion: version.ApiVersion ?? '',
    kernel: info.KernelVersion ?? '',
    runc: version.Components?.find(({ Name }) => Name === 'runc')?.Version,
    cgroupVersion: info.CgroupVersion ?? '1',
    storageDriver: info.Driver,
    rootDir: info.DockerRootDir,
    runtimes: Object.keys(info.Runtimes ?? {}),
    security: (info.SecurityOptions ?? []).flatMap((option) => /^name=([^,]+)/.exec(option)?.[1] ?? []),
    openFiles: await readOpenFiles(),
    warnings: info.Warnings ?? [],
  };
}

/** Where an engine of this machine says which process it is. */
const PID_FILE = '/var/run/docker.pid';

async function readOpenFiles(): Promise<number | undefined> {
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

/** User ids of all sandboxes that the engine has, by their labels. Throws DOCKER_UNAVAILABLE, DOCKER_FAILED. */
export async function usersInUse(docker: Docker): Promise<Set<number>> {
  const filters = { label: [`${LABEL}=sandbox`] };
  const containers = await docker.listContainers({ all: true, filters }).catch((error: unknown) => {
    throw fromDocker(error, 'list its containers');
  });
  return new Set(containers.map(({ Labels }) => Number(Labels[USER_LABEL])).filter((user) => user > 0));
}
