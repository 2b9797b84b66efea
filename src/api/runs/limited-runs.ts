import { existsSync } from 'node:fs';
import { join } from 'node:path';
import { type FleetLimits, isReadyToStart, limitedBy, hasFleetLimit, NO_LIMITS } from '../../core/run/fleet-limit.ts';
import type { RunState } from '../../core/run/state.ts';
import type { RunCatalog } from '../../store/run-catalog.ts';
import type { RunQuery } from '../../store/run/run-list.ts';
import { defined } from '../../lib/guards.ts';

/** A run among all others. */
export interface ListedRun extends RunState {
  /** The fleet limit that delays its next story, e.g. `fleet.max = 2`. */
  heldBy?: string;
}

/** Which runs to list. */
export type ListQuery = RunQuery;

export interface ListedRuns {
  /** Newest first. */
  runs: ListedRun[];
  /** Numbers of runs in its range that the query left out. */
  omitted: { open: number; ended: number };
  /** The `before` of a query for the next runs; absent if `newest` left none out. */
  next?: string;
}

/** Runs, with the fleet limits that delay them. */
export interface LimitedRuns {
  /** Runs, newest first; without a query all of them. */
  list(query?: ListQuery): Promise<ListedRuns>;
  /** The limit that delays a run, if any. */
  of(run: RunState): Promise<{ heldBy?: string }>;
}

/** Computes from the journals which runs a fleet limit delays; Redis is not needed. */
export function openLimitedRuns(home: string, store: Pick<RunCatalog, 'list'>): LimitedRuns {
  let limits: Promise<() => Promise<FleetLimits>> | undefined;
  const readLimits = async (): Promise<FleetLimits> => {
    // Without a settings file there are no limits, and the configuration need not be loaded.
    if (!existsSync(join(home, 'config.toml'))) return NO_LIMITS;
    limits ??= import('../../worker/run/fleet-limits.ts').then(({ openLimits }) => openLimits(home));
    // Commands that create runs report an invalid settings file.
    return (await limits)().catch(() => NO_LIMITS);
  };
  return {
    async list(query = {}) {
      const [{ runs, omitted, next }, most] = await Promise.all([store.list(query), readLimits()]);
      const open = await openRuns(runs, query, most);
      return {
        runs: runs.map((run) => ({ ...run, ...toHeldBy(limitedBy(run, open, most)) })),
        omitted,
        ...defined({ next }),
      };
    },
    async of(run) {
      const most = await readLimits();
      if (!hasFleetLimit(most) || !isReadyToStart(run)) return {};
      return toHeldBy(limitedBy(run, (await store.list({ ended: 0 })).runs, most));
    },
  };

  /** The runs that a limit counts; the listed ones may be only some of them. */
  async function openRuns(
    listed: readonly RunState[],
    { open, newest, before, since }: ListQuery,
    most: FleetLimits,
  ): Promise<readonly RunState[]> {
    const isWhole = [open, newest, before, since].every((part) => part === undefined);
    return isWhole || !hasFleetLimit(most) ? listed : (await store.list({ ended: 0 })).runs;
  }
}

function toHeldBy(limit: string | undefined): { heldBy?: string } {
  return defined({ heldBy: limit });
}
