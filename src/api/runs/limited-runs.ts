import { existsSync } from 'node:fs';
import { join } from 'node:path';
import { type FleetLimits, isReadyToStart, limitedBy, hasFleetLimit, NO_LIMITS } from '../../core/run/fleet-limit.ts';
import type { RunState } from '../../core/run/state.ts';
import type { RunCatalog } from '../../store/run-catalog.ts';
import type { ListedRun } from '../operations.ts';
import { defined } from '../../lib/guards.ts';

/** Runs, with the fleet limits that delay them. */
export interface LimitedRuns {
  /** All runs, newest first. */
  list(): Promise<ListedRun[]>;
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
    async list() {
      const [{ runs }, most] = await Promise.all([store.list(), readLimits()]);
      return runs.map((run) => ({ ...run, ...toHeldBy(limitedBy(run, runs, most)) }));
    },
    async of(run) {
      const most = await readLimits();
      if (!hasFleetLimit(most) || !isReadyToStart(run)) return {};
      return toHeldBy(limitedBy(run, (await store.list()).runs, most));
    },
  };
}

function toHeldBy(limit: string | undefined): { heldBy?: string } {
  return defined({ heldBy: limit });
}
