import { msBetween } from '../../../core/text/format-elapsed.ts';

const DAY_MS = 86_400_000;

/** What retention keeps of ended runs; an absent limit keeps everything. */
export interface RetentionLimits {
  /** How long artifacts are kept after the end of their run, in ms. */
  artifactsMs?: number | undefined;
  /** How many ended runs, the newest, keep their artifacts. */
  runs?: number | undefined;
  /** How long whole runs are kept after their end, in ms. */
  journalsMs?: number | undefined;
  /** Maximum size of all runs, in bytes. */
  maxBytes?: number | undefined;
}

/** A run as retention sees it. Sizes are in bytes. */
export interface RunSize {
  runId: string;
  /** ISO 8601; undefined for a run that has not ended. */
  endedAt: string | undefined;
  artifactBytes: number;
  /** Its journal, and everything else that stays when its artifacts are removed. */
  otherBytes: number;
  /** Why retention must not remove anything of it, as a clause. */
  keptBecause?: string;
}

/** Something that retention removes: the artifacts of a run, or the whole run. `why` is a clause. */
export interface RunRemoval {
  runId: string;
  /** When the run ended, ISO 8601. A run with another time in its journal was reopened after the plan was made. */
  endedAt: string;
  what: 'artifacts' | 'run';
  bytes: number;
  why: string;
}

/** Whether any limit is set. */
export function hasRetention(limits: RetentionLimits): boolean {
  return Object.values(limits).some((limit) => limit !== undefined);
}

/**
 * What to remove so that the limits hold, in this order: artifacts, then whole runs, the oldest first. Runs that have not
 * ended, or must be kept, stay and count; if they alone are larger than the maximum size, no whole run is removed for it.
 */
export function planRetention(runs: readonly RunSize[], limits: RetentionLimits, now: Date): RunRemoval[] {
  const ended = runs.flatMap((run) => (run.endedAt === undefined ? [] : [{ ...run, endedAt: run.endedAt }]));
  ended.sort((a, b) => (a.endedAt < b.endedAt ? 1 : a.endedAt > b.endedAt ? -1 : a.runId < b.runId ? 1 : -1));
  const chosen = new Map<string, RunRemoval>();
  ended.forEach((run, rank) => {
    const removal = run.keptBecause === undefined ? removalOf(run, rank, limits, now) : undefined;
    if (removal !== undefined) chosen.set(run.runId, removal);
  });
  const oldest = ended.filter(({ keptBecause: keptBecause }) => keptBecause === undefined).reverse();
  let total = runs.reduce((sum, { artifactBytes, otherBytes }) => sum + artifactBytes + otherBytes, 0);
  for (const { bytes } of chosen.values()) total -= bytes;
  const { maxBytes = Infinity } = limits;
  const why = 'all runs together are larger than the maximum size';
  for (const { runId, endedAt, artifactBytes } of oldest) {
    if (total <= maxBytes) break;
    if (artifactBytes === 0 || chosen.has(runId)) continue;
    chosen.set(runId, { runId, endedAt, what: 'artifacts', bytes: artifactBytes, why });
    total -= artifactBytes;
  }
  for (const { runId, endedAt, artifactBytes, otherBytes } of bytesThatStay(runs) > maxBytes ? [] : oldest) {
    if (total <= maxBytes) break;
    const before = chosen.get(runId);
    if (before?.what === 'run') continue;
    const bytes = artifactBytes + otherBytes;
    chosen.set(runId, { runId, endedAt, what: 'run', bytes, why });
    total -= bytes - (before?.bytes ?? 0);
  }
  const removals = oldest.flatMap(({ runId }) => chosen.get(runId) ?? []);
  return [...removals.filter(({ what }) => what === 'artifacts'), ...removals.filter(({ what }) => what === 'run')];
}

/** The size of the runs that retention must not touch, in bytes. */
export function bytesThatStay(runs: readonly RunSize[]): number {
  return runs
    .filter(({ endedAt, keptBecause }) => endedAt === undefined || keptBecause !== undefined)
    .reduce((sum, { artifactBytes, otherBytes }) => sum + artifactBytes + otherBytes, 0);
}

function removalOf(
  { runId, endedAt, artifactBytes, otherBytes }: RunSize & { endedAt: string },
  rank: number,
  { artifactsMs = Infinity, journalsMs = Infinity, runs = Infinity }: RetentionLimits,
  now: Date,
): RunRemoval | undefined {
  const ageMs = msBetween(endedAt, now.toISOString());
  const ended = `it ended ${Math.floor(ageMs / DAY_MS)} days ago`;
  if (ageMs >= journalsMs) return { runId, endedAt, what: 'run', bytes: artifactBytes + otherBytes, why: ended };
  if (artifactBytes === 0) return undefined;
  if (ageMs >= artifactsMs) return { runId, endedAt, what: 'artifacts', bytes: artifactBytes, why: ended };
  if (rank < runs) return undefined;
  return { runId, endedAt, what: 'artifacts', bytes: artifactBytes, why: `${rank} newer runs have ended` };
}
