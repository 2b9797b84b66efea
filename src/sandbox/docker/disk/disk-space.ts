import { statfs } from 'node:fs/promises';
import { join } from 'node:path';
import type Docker from 'dockerode';

/** Free space on the disk where the engine stores its volumes. */
export interface DiskSpace {
  freeBytes: number;
  /** Undefined on file systems that allocate inodes dynamically and do not report them. */
  freeInodes: number | undefined;
  /** Too few inodes are left for the machine to work. */
  lowInodes: boolean;
}

/** A disk with fewer of its inodes left than this share is treated as full. */
const INODE_FLOOR = 0.02;

/**
 * Returns a function that reads the free space of the engine's disk with statfs: fast, and without access to its folders.
 * It resolves to undefined when the disk is not on this machine, for example with a remote engine or inside a container.
 */
export function openDiskSpace(docker: Docker): () => Promise<DiskSpace | undefined> {
  let place: Promise<string | undefined> | undefined;
  return async () => {
    place ??= findPlace(docker);
    place.catch(() => (place = undefined));
    const path = await place;
    return path === undefined ? undefined : readSpace(path);
  };
}

async function findPlace(docker: Docker): Promise<string | undefined> {
  const { socketPath } = docker.modem as { socketPath?: string };
  if (socketPath === undefined) return undefined;
  const { DockerRootDir } = (await docker.info()) as { DockerRootDir: string };
  for (const path of [join(DockerRootDir, 'volumes'), DockerRootDir]) {
    if ((await readSpace(path)) !== undefined) return path;
  }
  return undefined;
}

async function readSpace(path: string): Promise<DiskSpace | undefined> {
  try {
    const { bavail, bsize, files, ffree } = await statfs(path);
    const counted = files > 0;
    return {
      freeBytes: bavail * bsize,
      freeInodes: counted ? ffree : undefined,
      lowInodes: counted && ffree / files < INODE_FLOOR,
    };
  } catch {
    return undefined;
  }
}
