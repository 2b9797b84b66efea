import { collectText, discard } from '../../../lib/sinks.ts';
import type { Sandbox, SandboxSpec } from '../../sandbox.ts';
import { TRUSTED_IMAGE } from '../trusted-image.ts';

/** What a volume holds, as seen from a sandbox that can only read it. */
export interface Usage {
  bytes: number;
  /** False when something in it could not be looked at: then there may be more. */
  complete: boolean;
  /** Files and folders. */
  entries: number;
  /** Whether folders in it are nested deeper than MOST_LEVELS. */
  tooDeep: boolean;
  /** Free bytes of the disk that the volume is on. */
  freeBytes: number | undefined;
}

/** An empty file costs an inode, and a folder a block: whoever makes millions of them fills a disk, too. */
export const LEAST_ENTRY_BYTES = 4_096;

/** No tool that works with paths gets anywhere near as deep. */
export const MOST_LEVELS = 1_000;

const MOUNT = '/workspace';
const SCRIPT = [
  `cd ${MOUNT}`,
  'bytes=$(du -sx -B1 . 2>/dev/null) || echo partly',
  'entries=$(du -sx --inodes . 2>/dev/null) || echo partly',
  `[ -z "$(find . -xdev -mindepth ${MOST_LEVELS + 1} -print -quit 2>/dev/null | head -c 1)" ] || echo deep`,
  'echo "bytes ${bytes%%[!0-9]*}"',
  'echo "entries ${entries%%[!0-9]*}"',
  "stat -f -c 'blocks %a %S' .",
].join('\n');

/**
 * Measures the volume in which `spec`'s sandbox works: in a sandbox of halo's own image, as the same user, so that a
 * hostile tree meets neither the worker nor a privileged process.
 */
export async function measureVolume(
  start: (spec: SandboxSpec) => Promise<Sandbox>,
  spec: SandboxSpec,
  { volume, signal }: { volume: string; signal?: AbortSignal },
): Promise<Usage> {
  const sandbox = await start({
    image: TRUSTED_IMAGE,
    labels: { ...spec.labels, phase: 'meter' },
    user: spec.user,
    workdir: '/tmp',
    env: {},
    mounts: [{ kind: 'volume', source: volume, target: MOUNT, readOnly: true, copyUp: false }],
    limits: { cpus: 1, memoryBytes: 256 * 1024 * 1024, pids: 32 },
    ...(spec.runtime === undefined ? {} : { runtime: spec.runtime }),
  });
  try {
    const stdout = collectText(1_000);
    const limits = { wallMs: 60_000, idleMs: 60_000, outputBytes: 10_000 };
    const exit = await sandbox.run({
      script: SCRIPT,
      stdout: stdout.sink,
      stderr: discard(),
      ...limits,
      ...(signal && { signal }),
    });
    return readUsage(stdout.text(), exit.exitCode === 0);
  } finally {
    await sandbox.remove();
  }
}

function readUsage(text: string, whole: boolean): Usage {
  const number = (pattern: RegExp) => Number(pattern.exec(text)?.[1] ?? 0);
  const blocks = /^blocks (\d+) (\d+)$/m.exec(text);
  const entries = number(/^entries (\d+)$/m);
  return {
    bytes: Math.max(number(/^bytes (\d+)$/m), entries * LEAST_ENTRY_BYTES),
    entries,
    tooDeep: /^deep$/m.test(text),
    complete: whole && !text.includes('partly'),
    freeBytes: blocks === null ? undefined : Number(blocks[1]) * Number(blocks[2]),
  };
}
