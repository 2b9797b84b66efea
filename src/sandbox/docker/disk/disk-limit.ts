import { HaloError } from '../../../core/failure/errors.ts';
import { ignore, sleep } from '../../../lib/async.ts';
import type { DepthRequest } from './depth-report.ts';
import { MAX_LEVELS, MIN_ENTRY_BYTES, type DiskSpace, type VolumeMeasurement } from './disk-meter.ts';

/** `disk`: the volume exceeds its size or depth limit. `disk-floor`: too little is free on the engine's disk. */
export type DiskLimitReason = 'disk' | 'disk-floor';

/** A running sandbox and its writable volume. */
interface WatchedSandbox {
  volume: string;
  limitBytes: number;
  /** Minimum free space of the engine's disk. */
  floorBytes: number;
  measure: (signal: AbortSignal) => Promise<VolumeMeasurement>;
  /** Kills the sandbox; may be called more than once. */
  end: (why: DiskLimitReason) => void;
}

/** What is known about a volume. */
export interface VolumeUsage {
  /** Size at the last measurement; 0 for a new volume. */
  bytes: number;
  /** Free space of its disk at the last measurement, if only a measurement can determine it. */
  freeBytes: number | undefined;
  /** Free space of the disk at the last measurement, and at the last tick. */
  measuredSpace: DiskSpace | undefined;
  lastSpace: DiskSpace | undefined;
  /** Bytes written to the disk since the last measurement, by any process; space freed by others is not subtracted. */
  written: number;
  /** Time of the last measurement, as of `performance.now()`. */
  measuredAtMs: number;
  /** Number of files and folders at the last measurement. */
  entries: number;
  /** Number of entries created on the disk since then, by any process. */
  created: number;
  /** Maximum depth at the last measurement. */
  levels: number;
}

interface KnownVolume {
  usage: VolumeUsage;
  measuring: Promise<void> | undefined;
  removed: AbortController;
}

const TICK_MS = 500;
/** Minimum time between two measurements of a volume. */
const MIN_INTERVAL_MS = 1_000;
/** Time between two measurements if the free space of the disk cannot be read. */
const SAMPLE_INTERVAL_MS = 20_000;
/** Number of new files below which the depth of a volume is not measured. */
const MANY_ENTRIES = 50_000;
/** Maximum wait for the space that a killed sandbox frees. */
const RESCUE_MS = 15_000;

/**
 * Kills sandboxes whose volume exceeds its limit, for engines without volume quotas. It polls the free space of the
 * disk, which is cheap. It measures a volume only when the data written to the disk since the last measurement could
 * have filled it. Parts of a volume that cannot be measured count as the space missing on the disk.
 */
export class DiskLimiter {
  private readonly readSpace: () => Promise<DiskSpace | undefined>;
  private readonly measureFree: () => Promise<number | undefined>;
  private readonly volumes = new Map<string, KnownVolume>();
  private readonly watched = new Set<WatchedSandbox>();
  /** What sandboxes measured at their end, and how many did not, by volume. */
  private readonly depths = new Map<string, { levels: number; unmeasured: number }>();
  /** The upper volumes of overlays, by the name of the overlay. */
  private readonly uppers = new Map<string, string>();
  /** The maximum depth of upper volumes whose overlay was removed. */
  private readonly upperLevels = new Map<string, number>();
  private timer: NodeJS.Timeout | undefined;
  private rescuing = false;

  /** `measureFree`: the free bytes of a disk whose space cannot be read. */
  constructor(
    readSpace: () => Promise<DiskSpace | undefined>,
    measureFree: () => Promise<number | undefined> = () => Promise.resolve(undefined),
  ) {
    this.readSpace = readSpace;
    this.measureFree = measureFree;
  }

  /**
   * Records the free space before anything is written to `volume`. Throws DISK_FAILED when it is less than `floorBytes`.
   */
  async admit(floorBytes: number, volume: string | undefined): Promise<void> {
    const space = await this.readSpace();
    if (volume !== undefined) this.volumeOf(volume, space);
    const measured = space === undefined && floorBytes > 0 ? await this.measureFree() : undefined;
    if (!isBelowFloor(space, measured, floorBytes)) return;
    const gib = (bytes: number) => `${(bytes / 1024 ** 3).toFixed(1)} GiB`;
    const left = space?.lowInodes ? 'Hardly an inode' : `Only ${gib(space?.freeBytes ?? measured ?? 0)}`;
    throw new HaloError('DISK_FAILED', `${left} is free on the disk of the container engine.`, {
      hint: `Free some space (\`docker system df\` shows what uses it), or lower [limits] free_disk (${gib(floorBytes)}).`,
    });
  }

  /**
   * Call it before a sandbox starts that can write to the volumes at these folders. Returns what it must measure at its
   * end, if the disk does not report how many files are created on it.
   */
  async depthRequest(folders: ReadonlyMap<string, string>): Promise<DepthRequest | undefined> {
    if (folders.size === 0 || (await this.readSpace())?.freeInodes !== undefined) return undefined;
    const depths = [...folders.values()].map((volume) => {
      const depth = this.depths.get(volume) ?? { levels: 0, unmeasured: 0 };
      this.depths.set(volume, depth);
      depth.unmeasured += 1;
      return depth;
    });
    const measured = (levels: number) => {
      for (const depth of depths) {
        depth.levels = Math.max(depth.levels, levels);
        depth.unmeasured -= 1;
      }
    };
    // `wait` reads them from one line.
    return [...folders.keys()].some((folder) => /\s/.test(folder))
      ? undefined
      : { folders: [...folders.keys()], measured };
  }

  /** Watches a sandbox until the returned function is called. */
  watch(sandbox: WatchedSandbox): () => void {
    this.watched.add(sandbox);
    this.timer ??= setInterval(() => void this.tick().catch(ignore), TICK_MS).unref();
    return () => {
      this.watched.delete(sandbox);
      if (this.watched.size > 0) return;
      clearInterval(this.timer);
      this.timer = undefined;
    };
  }

  /** Call it before an overlay is used: what is written to it is in its upper volume. */
  addOverlay(name: string, upper: string): void {
    this.uppers.set(name, upper);
  }

  /**
   * Call it before a volume is removed, and for an overlay before its upper volume. Resolves once nothing measures it, to
   * the maximum depth that it can have.
   */
  async forget(volume: string): Promise<number> {
    const ownLevels = await this.forgetUsage(volume);
    const levels = this.upperLevels.get(volume) ?? ownLevels;
    this.upperLevels.delete(volume);
    const upper = this.uppers.get(volume);
    this.uppers.delete(volume);
    if (upper !== undefined) this.upperLevels.set(upper, levels + 1);
    return levels;
  }

  private async forgetUsage(volume: string): Promise<number> {
    const known = this.volumes.get(volume);
    const depth = this.depths.get(volume);
    this.volumes.delete(volume);
    this.depths.delete(volume);
    known?.removed.abort();
    await known?.measuring?.catch(ignore);
    if (depth?.unmeasured === 0) return depth.levels;
    const space = await this.readSpace();
    if (known === undefined || space?.freeInodes === undefined) return Infinity;
    addGrowth(known.usage, space);
    return known.usage.levels + known.usage.created;
  }

  private async tick(): Promise<void> {
    const space = await this.readSpace();
    const starved = [...this.watched].filter((sandbox) => {
      const known = this.volumeOf(sandbox.volume, space);
      addGrowth(known.usage, space);
      const isDue = isMeasurementDue(known.usage, sandbox.limitBytes, { space, nowMs: performance.now() });
      // Not awaited: a tree that takes long to measure must not delay the others.
      if (isDue && !known.removed.signal.aborted) this.measure(sandbox, known, space).catch(ignore);
      return isBelowFloor(space, known.usage.freeBytes, sandbox.floorBytes);
    });
    if (starved.length === 0 || this.rescuing) return;
    this.rescuing = true;
    await this.endLargest(starved, space).finally(() => (this.rescuing = false));
  }

  private volumeOf(name: string, space: DiskSpace | undefined): KnownVolume {
    const known = this.volumes.get(name);
    if (known !== undefined) return known;
    const usage: VolumeUsage = {
      bytes: 0,
      freeBytes: undefined,
      measuredSpace: space,
      lastSpace: space,
      written: 0,
      measuredAtMs: space === undefined ? performance.now() : -Infinity,
      entries: 0,
      created: 0,
      levels: 0,
    };
    const volume: KnownVolume = { usage, measuring: undefined, removed: new AbortController() };
    this.volumes.set(name, volume);
    return volume;
  }

  private measure(sandbox: WatchedSandbox, known: KnownVolume, space: DiskSpace | undefined): Promise<void> {
    known.measuring ??= this.takeMeasurement(sandbox, known, space).finally(() => (known.measuring = undefined));
    return known.measuring;
  }

  private async takeMeasurement(
    sandbox: WatchedSandbox,
    { usage, removed }: KnownVolume,
    space: DiskSpace | undefined,
  ): Promise<void> {
    const created = usage.created;
    const { bytes, entries, tooDeep, complete, freeBytes } = await sandbox.measure(removed.signal);
    const unmeasured = complete ? 0 : usage.bytes + usedBytesBetween(usage.measuredSpace, space);
    usage.levels = complete && !tooDeep ? MAX_LEVELS : usage.levels + created;
    usage.created -= created;
    usage.bytes = Math.max(bytes, unmeasured);
    usage.entries = entries;
    usage.freeBytes = freeBytes;
    usage.measuredSpace = space;
    usage.written = 0;
    usage.measuredAtMs = performance.now();
    if (tooDeep || usage.bytes >= sandbox.limitBytes) sandbox.end('disk');
  }

  /** Kills the sandbox with the largest volume, and waits until that is removed before another one is killed. */
  private async endLargest(starved: WatchedSandbox[], space: DiskSpace | undefined): Promise<void> {
    await Promise.allSettled(
      starved.map((sandbox) => this.measure(sandbox, this.volumeOf(sandbox.volume, space), space)),
    );
    const size = ({ volume }: WatchedSandbox) => this.volumes.get(volume)?.usage.bytes ?? 0;
    const [largest] = starved.sort((a, b) => size(b) - size(a));
    if (largest === undefined) return;
    largest.end('disk-floor');
    for (let waited = 0; waited < RESCUE_MS && this.volumes.has(largest.volume); waited += TICK_MS)
      await sleep(TICK_MS);
  }
}

/** Whether a volume may have reached a limit since its last measurement. */
export function isMeasurementDue(
  usage: VolumeUsage,
  limitBytes: number,
  { space, nowMs }: { space: DiskSpace | undefined; nowMs: number },
): boolean {
  const ageMs = nowMs - usage.measuredAtMs;
  if (space === undefined) return ageMs >= SAMPLE_INTERVAL_MS;
  const mayBeTooLarge = usage.bytes + usage.written >= limitBytes;
  const mayBeTooDeep = usage.created >= Math.max(MANY_ENTRIES, usage.entries);
  return (mayBeTooLarge || mayBeTooDeep) && ageMs >= MIN_INTERVAL_MS;
}

/** Whether too little is free on the disk. `measuredFreeBytes` counts if the disk itself cannot be read. */
export function isBelowFloor(
  space: DiskSpace | undefined,
  measuredFreeBytes: number | undefined,
  floorBytes: number,
): boolean {
  const freeBytes = space?.freeBytes ?? measuredFreeBytes;
  return space?.lowInodes === true || (freeBytes !== undefined && freeBytes < floorBytes);
}

/** Adds what was written and created since the last tick. */
function addGrowth(usage: VolumeUsage, space: DiskSpace | undefined): void {
  usage.written += usedBytesBetween(usage.lastSpace, space);
  usage.created += usedInodesBetween(usage.lastSpace, space);
  usage.lastSpace = space;
}

function usedBytesBetween(before: DiskSpace | undefined, after: DiskSpace | undefined): number {
  if (before === undefined || after === undefined) return 0;
  return Math.max(0, before.freeBytes - after.freeBytes, usedInodesBetween(before, after) * MIN_ENTRY_BYTES);
}

function usedInodesBetween(before: DiskSpace | undefined, after: DiskSpace | undefined): number {
  if (before?.freeInodes === undefined || after?.freeInodes === undefined) return 0;
  return Math.max(0, before.freeInodes - after.freeInodes);
}
