import { statfs } from 'node:fs/promises';
import { join } from 'node:path';
import type Docker from 'dockerode';

/** What is free on the disk where the engine keeps its volumes. */
export interface Space {
  freeBytes: number;
  /** Undefined on file systems that make inodes as they need them, and tell of none. */
  freeInodes: number | undefined;
  /** Fewer inodes are left than a machine needs to go on. */
  lowInodes: boolean;
}

/** A disk with fewer of its inodes left than this share is treated as full. */
const INODE_FLOOR = 0.02;

/**
 * Asks the system for the free space of the engine's disk, in microseconds and without any right to its folders.
 * Answers undefined when that disk is not on this machine, e.g. of a remote engine or from inside a container.
 */
export function openSpace(docker: Docker): () => Promise<Space | undefined> {
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

async function readSpace(path: string): Promise<Space | undefined> {
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
