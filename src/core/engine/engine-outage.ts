/** An engine of config.toml on which no story can start, though it was not drained. */
export interface EngineOutage {
  engine: string;
  /** ISO 8601 */
  since: string;
  /** `no worker`: none runs for it; `away`: it does not answer its worker, or lacks an image. */
  why: OutageReason;
}

export const OUTAGE_REASONS = ['no worker', 'away'] as const;

export type OutageReason = (typeof OUTAGE_REASONS)[number];

/** A worker that runs. */
interface RunningWorker {
  engine: string;
  away?: boolean | undefined;
}

/** How long an outage lasts before people are notified, in ms: an engine may restart, and so may its worker. */
const LASTING_MS = 5 * 60_000;

/** The outages of engines now; those that were known begin when they began. `engines`: names of those that should take stories. */
export function findOutages(
  known: readonly EngineOutage[],
  { engines, workers, now }: { engines: readonly string[]; workers: readonly RunningWorker[]; now: string },
): EngineOutage[] {
  return engines.flatMap((engine) => {
    const own = workers.filter((worker) => worker.engine === engine);
    if (own.some(({ away = false }) => !away)) return [];
    const since = known.find((outage) => outage.engine === engine)?.since ?? now;
    // A clock that was ahead must not hide it.
    return { engine, since: since < now ? since : now, why: own.length === 0 ? 'no worker' : 'away' };
  });
}

/** Those that last so long that a person should look. */
export function lastingOutages(outages: readonly EngineOutage[], now: string): EngineOutage[] {
  return outages.filter(({ since }) => Date.parse(now) - Date.parse(since) >= LASTING_MS);
}

const WHY: Record<OutageReason, string> = {
  'no worker': 'has no worker',
  away: 'does not answer, or lacks an image',
};

/** E.g. `build-2 has no worker since 2030-01-01T12:00Z`. The reason comes first: narrow tables cut the end. */
export function outageText({ engine, since, why }: EngineOutage): string {
  return `${engine} ${WHY[why]} since ${since.slice(0, 16)}Z`;
}
