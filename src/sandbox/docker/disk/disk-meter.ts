import { statfs } from 'node:fs/promises';
import { join } from 'node:path';
import type Docker from 'dockerode';
import { defined } from '../../../lib/guards.ts';
import { discardSink, tailSink } from '../../../lib/streams.ts';
import { runOneOffSandbox } from '../../one-off-sandbox.ts';
import type { Sandbox, SandboxEngine, SandboxSpec } from '../../sandbox.ts';
import { HALO_IMAGE } from '../image/image-recipe.ts';

/** The contents of a volume, measured in a sandbox that can only read it. */
export interface VolumeMeasurement {
  bytes: number;
  /** False when a part of it could not be read, so that there may be more. */
  complete: boolean;
  /** Files and folders. */
  entries: number;
  /** Whether folders in it are nested deeper than MAX_LEVELS. */
  tooDeep: boolean;
  /** Free bytes of the disk that the volume is on. */
  freeBytes: number | undefined;
}

/** Minimum size that an entry counts as: even empty files and folders use inodes and blocks. */
export const MIN_ENTRY_BYTES = 4_096;

/** Maximum depth of nested folders; no tool that works with paths gets near it. */
export const MAX_LEVELS = 1_000;

const MOUNT = '/workspace';
const SCRIPT = [
  `cd ${MOUNT}`,
  'bytes=$(du -sx -B1 . 2>/dev/null) || echo partly',
  'entries=$(du -sx --inodes . 2>/dev/null) || echo partly',
  `[ -z "$(find . -xdev -mindepth ${MAX_LEVELS + 1} -print -quit 2>/dev/null | head -c 1)" ] || echo deep`,
  'echo "bytes ${bytes%%[!0-9]*}"',
  'echo "entries ${entries%%[!0-9]*}"',
  "stat -f -c 'blocks %a %S' .",
].join('\n');

/**
 * Measures the volume of `spec`'s sandbox in a sandbox of halo's own image as the same user, so that neither the worker
 * nor a privileged process has to read a hostile tree.
 */
export async function measureVolume(
  start: (spec: SandboxSpec) => Promise<Sandbox>,
  spec: SandboxSpec,
  { volume, signal }: { volume: string; signal?: AbortSignal },
): Promise<VolumeMeasurement> {
  const sandbox = await start({
    image: HALO_IMAGE,
    labels: { ...spec.labels, phase: 'meter' },
    user: spec.user,
    workdir: '/tmp',
    env: {},
    mounts: [{ kind: 'volume', source: volume, target: MOUNT, readOnly: true, copyUp: false }],
    limits: { cpus: 1, memoryBytes: 256 * 1024 * 1024, pids: 32 },
    ...defined({ runtime: spec.runtime }),
  });
  try {
    const stdout = tailSink(1_000);
    const limits = { wallMs: 60_000, idleMs: 60_000, outputBytes: 10_000 };
    const exit = await sandbox.run({
      script: SCRIPT,
      stdout: stdout.sink,
      stderr: discardSink(),
      ...limits,
      ...(signal && { signal }),
    });
    return readUsage(stdout.text(), exit.exitCode === 0);
  } finally {
    await sandbox.remove();
  }
}

function readUsage(text: string, whole: boolean): VolumeMeasurement {
  const number = (pattern: RegExp) => Number(pattern.exec(text)?.[1] ?? 0);
  const entries = number(/^entries (\d+)$/m);
  return {
    bytes: Math.max(number(/^bytes (\d+)$/m), entries * MIN_ENTRY_BYTES),
    entries,
    tooDeep: /^deep$/m.test(text),
    complete: whole && !text.includes('partly'),
    freeBytes: readBlocks(text),
  };
}

function readBlocks(text: string): number | undefined {
  const blocks = /^blocks (\d+) (\d+)$/m.exec(text);
  return blocks === null ? undefined : Number(blocks[1]) * Number(blocks[2]);
}

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
 * It resolves to undefined when the disk is not on this machine, as `isHere` says, or not visible to this process.
 */
export function openDiskSpace(docker: Docker, isHere: () => Promise<boolean>): () => Promise<DiskSpace | undefined> {
  let place: Promise<string | undefined> | undefined;
  return async () => {
    place ??= isHere().then((here) => (here ? findPlace(docker) : undefined));
    place.catch(() => (place = undefined));
    const path = await place;
    return path === undefined ? undefined : readSpace(path);
  };
}

async function findPlace(docker: Docker): Promise<string | undefined> {
  const { DockerRootDir } = (await docker.info()) as { DockerRootDir: string };
  for (const path of [join(DockerRootDir, 'volumes'), DockerRootDir]) {
    if ((await readSpace(path)) !== undefined) return path;
  }
  return undefined;
}

/** How long the free space of a disk on another machine is used before it is measured again, in ms. */
const MEASURED_MS = 60_000;

/**
 * Returns a function that measures the free space of the disk of an engine on another machine, in a sandbox. Only the
 * first call waits for it: a later one returns the last result, and measures again if that is older than a minute.
 */
export function openRemoteSpace(engine: Pick<SandboxEngine, 'start'>): () => Promise<number | undefined> {
  let last: Promise<number | undefined> | undefined;
  let measuredAt = 0;
  return () => {
    const known = last;
    if (known !== undefined && performance.now() - measuredAt <= MEASURED_MS) return known;
    measuredAt = performance.now();
    const measured = measureRemoteSpace(engine);
    last = known ?? measured;
    measured.then(
      () => (last = measured),
      () => (last = undefined),
    );
    return last;
  };
}

/** The files of a container are on the same disk as its volumes. */
async function measureRemoteSpace(engine: Pick<SandboxEngine, 'start'>): Promise<number | undefined> {
  const { text } = await runOneOffSandbox(engine, { purpose: 'space', script: "stat -f -c 'blocks %a %S' /" });
  return readBlocks(text);
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
