import { HaloError } from '../../core/failure/errors.ts';
import { sleep } from '../../lib/sleep.ts';
import { LEAST_ENTRY_BYTES, MOST_LEVELS, type Usage } from './disk/disk-meter.ts';
import type { Space } from './disk/disk-space.ts';

/** `disk`: its workspace holds more, or is deeper, than it may. `disk-floor`: too little is left on the engine's disk. */
export type DiskEnd = 'disk' | 'disk-floor';

/** A running sandbox and the volume that it can write to. */
export interface DiskClaim {
  volume: string;
  limitBytes: number;
  /** What must stay free on the engine's disk. */
  floorBytes: number;
  measure: (signal: AbortSignal) => Promise<Usage>;
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
  /**
   * Tells that a volume is about to go; resolves when nothing measures it any more, with how many levels of folders it can
   * have at most.
   */
  forget(volume: string): Promise<number>;
}

interface Held {
  /** As measured last; an empty volume at first. */
  bytes: number;
  /** What was free on its disk, where only a measurement tells. */
  freeBytes: number | undefined;
  /** What was free then, and what at the last look. */
  then: Space | undefined;
  last: Space | undefined;
  /** What was written to the disk since then, by anyone: what others free meanwhile hides nothing. */
  written: number;
  at: number;
  /** Files and folders, as measured last. */
  entries: number;
  /** How many were made on the disk since then, by anyone. */
  made: number;
  /** How deep it was at most when it was measured last. */
  levels: number;
  measuring: Promise<void> | undefined;
  gone: AbortController;
}

const TICK_MS = 500;
/** Least time between two measurements of one volume; without sight of the disk, the time between them. */
const AGAIN_MS = 1_000;
const BLIND_MS = 20_000;
/** So many new files are no reason yet to look how deep they are. */
const MANY_ENTRIES = 50_000;
/** Longest wait for the space that an ended sandbox gives back. */
const RESCUE_MS = 15_000;

/**
 * Ends sandboxes whose volume grows past its limit, where the engine itself has no quota. It looks at the free space
 * of the disk, which costs nothing; only when as much was written as a volume may still grow, is the volume measured.
 * What cannot be measured counts as what is missing from the disk.
 */
export function openDiskGuard(space: () => Promise<Space | undefined>): DiskGuard {
  const held = new Map<string, Held>();
  const claims = new Set<DiskClaim>();
  let timer: NodeJS.Timeout | undefined;
  let rescuing = false;

  const tick = async () => {
    const now = await space();
    const full = [...claims].filter((claim) => {
      const volume = look(claim, now);
      const free = now?.freeBytes ?? volume.freeBytes;
      return now?.lowInodes === true || (free !== undefined && free < claim.floorBytes);
    });
    if (full.length === 0 || rescuing) return;
    rescuing = true;
    await endLargest(full, now).finally(() => (rescuing = false));
  };

  const look = (claim: DiskClaim, now: Space | undefined): Held => {
    const volume = holdOf(claim.volume, now);
    count(volume, now);
    const age = performance.now() - volume.at;
    const large = volume.bytes + volume.written >= claim.limitBytes;
    const many = volume.made >= Math.max(MANY_ENTRIES, volume.entries);
    const due = now === undefined ? age >= BLIND_MS : (large || many) && age >= AGAIN_MS;
    // Not waited for: a tree that takes long to measure must not hide the others.
    if (due && !volume.gone.signal.aborted) measure(claim, volume, now).catch(ignore);
    return volume;
  };

  const holdOf = (name: string, now: Space | undefined): Held => {
    const known = held.get(name);
    if (known !== undefined) return known;
    const at = now === undefined ? performance.now() : -Infinity;
    const fresh: Held = {
      bytes: 0,
      freeBytes: undefined,
      then: now,
      last: now,
      written: 0,
      at,
      entries: 0,
      made: 0,
      levels: 0,
      measuring: undefined,
      gone: new AbortController(),
    };
    held.set(name, fresh);
    return fresh;
  };

  const measure = (claim: DiskClaim, volume: Held, now: Space | undefined): Promise<void> => {
    volume.measuring ??= take(claim, volume, now).finally(() => (volume.measuring = undefined));
    return volume.measuring;
  };

  const take = async (claim: DiskClaim, volume: Held, now: Space | undefined): Promise<void> => {
    const made = volume.made;
    const { bytes, entries, tooDeep, complete, freeBytes } = await claim.measure(volume.gone.signal);
    const hidden = complete ? 0 : volume.bytes + shrunkBy(volume.then, now);
    const levels = complete && !tooDeep ? MOST_LEVELS : volume.levels + made;
    volume.made -= made;
    Object.assign(volume, { bytes: Math.max(bytes, hidden), entries, levels, freeBytes });
    Object.assign(volume, { then: now, written: 0, at: performance.now() });
    if (tooDeep || volume.bytes >= claim.limitBytes) claim.end('disk');
  };

  /** Ends one, and waits for its volume to go before another has to. */
  const endLargest = async (full: DiskClaim[], now: Space | undefined) => {
    await Promise.allSettled(full.map((claim) => measure(claim, holdOf(claim.volume, now), now)));
    const size = (claim: DiskClaim) => held.get(claim.volume)?.bytes ?? 0;
    const [largest] = full.sort((a, b) => size(b) - size(a));
    if (largest === undefined) return;
    largest.end('disk-floor');
    for (let waited = 0; waited < RESCUE_MS && held.has(largest.volume); waited += TICK_MS) await sleep(TICK_MS);
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
      timer ??= setInterval(() => void tick().catch(ignore), TICK_MS).unref();
      return () => {
        claims.delete(claim);
        if (claims.size > 0) return;
        clearInterval(timer);
        timer = undefined;
      };
    },
    forget: async (volume) => {
      const known = held.get(volume);
      held.delete(volume);
      known?.gone.abort();
      await known?.measuring?.catch(ignore);
      const now = known && (await space());
      if (known === undefined || now?.freeInodes === undefined) return Infinity;
      count(known, now);
      return known.levels + known.made;
    },
  };
}

/** Adds up what was written and made since the last look. */
function count(volume: Held, now: Space | undefined): void {
  volume.written += shrunkBy(volume.last, now);
  volume.made += fewerInodes(volume.last, now);
  volume.last = now;
}

/** By how much less is free now than then. */
function shrunkBy(then: Space | undefined, now: Space | undefined): number {
  if (then === undefined || now === undefined) return 0;
  return Math.max(0, then.freeBytes - now.freeBytes, fewerInodes(then, now) * LEAST_ENTRY_BYTES);
}

function fewerInodes(then: Space | undefined, now: Space | undefined): number {
  if (then?.freeInodes === undefined || now?.freeInodes === undefined) return 0;
  return Math.max(0, then.freeInodes - now.freeInodes);
}

/** The engine or the disk does not answer: the next tick asks again. */
function ignore(): void {}
