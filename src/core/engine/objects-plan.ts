/** A commit whose history a volume of the engine has. */
export interface StoredHistory {
  commit: string;
  /** The size of the volume, in bytes. */
  bytes: number;
}

/** Smaller packs are streamed into each workspace instead of stored. */
const STREAMED_BYTES = 256 * 1024;
/** The same, as a share of what the volume has: an attempt has some four workspaces, and a new volume is a copy. */
const STREAMED_SHARE = 1 / 200;

/**
 * Whether the engine gets a volume with the history of a commit. Otherwise, each workspace borrows the objects of `nearest`,
 * the nearest ancestor that has a volume, and receives the others. `missingBytes`: the size of the others.
 */
export function needsVolume(nearest: StoredHistory | undefined, missingBytes: number): boolean {
  return missingBytes > Math.max(STREAMED_BYTES, (nearest?.bytes ?? 0) * STREAMED_SHARE);
}

/** What trimming knows of a volume. */
export interface ObjectsVolumeFacts {
  /** The name of the repository's mirror. */
  mirror: string;
  /** ms since 1970 */
  usedAt: number;
  isInUse: boolean;
}

/** Volumes of a repository that stay: branches and older bases have their own. */
const KEPT = 4;
const UNUSED_MS = 14 * 86_400_000;

/** The volumes to remove, the longest unused first; all that are not in use if the disk `isShort`. */
export function findSurplusVolumes<T extends ObjectsVolumeFacts>(
  volumes: readonly T[],
  { now, isShort }: { now: number; isShort: boolean },
): T[] {
  const recent = [...volumes].sort((a, b) => b.usedAt - a.usedAt);
  const counts = new Map<string, number>();
  const surplus = recent.filter(({ mirror, usedAt, isInUse }) => {
    const count = (counts.get(mirror) ?? 0) + 1;
    counts.set(mirror, count);
    return !isInUse && (isShort || count > KEPT || now - usedAt > UNUSED_MS);
  });
  return surplus.reverse();
}
