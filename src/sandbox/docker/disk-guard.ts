import { HaloError } from '../../core/errors.ts';
import { LEAST_ENTRY_BYTES, type Usage } from './disk-meter.ts';
import type { Space } from './disk-space.ts';

/** `disk`: its workspace holds more than it may. `disk-floor`: too little is left on the engine's disk. */
export type DiskEnd = 'disk' | 'disk-floor';

/** A running sandbox and the volume that it can write to. */
export interface DiskClaim {
  volume: string;
  limitBytes: number;
  /** What must stay free on the engine's disk. */
  floorBytes: number;
  measure: () => Promise<Usage>;
  /** Ends the sandbox; may be called more than once. */
  end: (why: DiskEnd) => void;
}

export interface DiskGuard {
  /**
   * Remembers what is free before anything is written to `volume`.
   * Throws DISK_FAILED when that is less than `floorBytes`.
   */
  admit(floorBytes: number, volume: string | undefined): Promise<void>;
  /** Watches a sandbox until the answer is called. */
  watch(claim: DiskClaim): () => void;
  /** Tells that a volume is gone. */
  forget(volume: string): void;
}

interface Held {
  /** As measured last; an empty volume at first. */
  bytes: number;
  /** What was free then, and what at the last look. */
  then: Space | undefined;
  last: Space | undefined;
  /** What was written to the disk since then, by anyone: what others free meanwhile hides nothing. */
  written: number;
  at: number;
}

const TICK_MS = 500;
/** Least time between two measurements of one volume; without sight of the disk, the time between them. */
const AGAIN_MS = 1_000;
const BLIND_MS = 20_000;

/**
 * Ends sandboxes whose volume grows past its limit, where the engine itself has no quota. It looks at the free space
 * of the disk, which costs nothing; only when as much was written as a volume may still grow, is the volume measured.
 * What cannot be measured counts as what is missing from the disk.
 */
export function openDiskGuard(space: () => Promise<Space | undefined>): DiskGuard {
  const held = new Map<string, Held>();
  const claims = new Set<DiskClaim>();
  let timer: NodeJS.Timeout | undefined;
  let busy = false;

  const tick = async () => {
    if (busy) return;
    busy = true;
    try {
      const now = await space();
      const measured = await Promise.all([...claims].map((claim) => check(claim, now)));
      const floor = Math.max(0, ...[...claims].map(({ floorBytes }) => floorBytes));
      const free = now?.freeBytes ?? measured.find((usage) => usage?.freeBytes !== undefined)?.freeBytes;
      if (now?.lowInodes === true || (free !== undefined && free < floor)) await endLargest(now);
    } catch {
      // The engine or the disk does not answer; the next tick asks again.
    } finally {
      busy = false;
    }
  };

  const check = async (claim: DiskClaim, now: Space | undefined): Promise<Usage | undefined> => {
    const volume = holdOf(claim.volume, now);
    volume.written += shrunkBy(volume.last, now);
    volume.last = now;
    const age = Date.now() - volume.at;
    const due =
      now === undefined ? age >= BLIND_MS : volume.bytes + volume.written >= claim.limitBytes && age >= AGAIN_MS;
    return due ? measure(claim, volume, now) : undefined;
  };

  const holdOf = (name: string, now: Space | undefined): Held => {
    const known = held.get(name);
    if (known !== undefined) return known;
    const fresh = { bytes: 0, then: now, last: now, written: 0, at: now === undefined ? Date.now() : 0 };
    held.set(name, fresh);
    return fresh;
  };

  const measure = async (claim: DiskClaim, volume: Held, now: Space | undefined): Promise<Usage> => {
    const usage = await claim.measure();
    const hidden = usage.complete || now === undefined ? 0 : volume.bytes + shrunkBy(volume.then, now);
    Object.assign(volume, { bytes: Math.max(usage.bytes, hidden), then: now, written: 0, at: Date.now() });
    if (volume.bytes >= claim.limitBytes) claim.end('disk');
    return usage;
  };

  const endLargest = async (now: Space | undefined) => {
    await Promise.all([...claims].map((claim) => measure(claim, holdOf(claim.volume, now), now)));
    const size = (claim: DiskClaim) => held.get(claim.volume)?.bytes ?? 0;
    const [largest] = [...claims].sort((a, b) => size(b) - size(a));
    largest?.end('disk-floor');
  };

  return {
    admit: async (floorBytes, volume) => {
      const now = await space();
      if (volume !== undefined) holdOf(volume, now);
      if (now === undefined) return;
      if (now.freeBytes >= floorBytes && !now.lowInodes) return;
      const gib = (bytes: number) => `${(bytes / 1024 ** 3).toFixed(1)} GiB`;
      const left = now.lowInodes ? 'hardly an inode' : `only ${gib(now.freeBytes)}`;
      throw new HaloError('DISK_FAILED', `${left} is free on the disk of the container engine`, {
        hint: `free some space (\`docker system df\` shows what is there), or lower [limits] free_disk (${gib(floorBytes)})`,
      });
    },
    watch: (claim) => {
      claims.add(claim);
      timer ??= setInterval(() => void tick(), TICK_MS).unref();
      return () => {
        claims.delete(claim);
        if (claims.size > 0) return;
        clearInterval(timer);
        timer = undefined;
      };
    },
    forget: (volume) => void held.delete(volume),
  };
}

/** By how much less is free now than then. */
function shrunkBy(then: Space | undefined, now: Space | undefined): number {
  if (then === undefined || now === undefined) return 0;
  const inodes = (then.freeInodes - now.freeInodes) * LEAST_ENTRY_BYTES;
  return Math.max(0, then.freeBytes - now.freeBytes, inodes);
}
