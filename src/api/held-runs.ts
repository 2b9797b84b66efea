import { existsSync } from 'node:fs';
import { join } from 'node:path';
import type { FleetLimits } from '../config/config.ts';
import { couldStart, heldBy, isLimited } from '../core/run/fleet-limit.ts';
import type { RunState } from '../core/run-state.ts';
import type { Store } from '../store/store.ts';
import type { ListedRun } from './operations.ts';

const NO_LIMITS: FleetLimits = { perAgent: {} };

/** Tells which runs a limit of the fleet holds back, as the journals have it: Redis need not be there. */
export function openHeldRuns(home: string, store: Pick<Store, 'list'>) {
  let limits: Promise<() => Promise<FleetLimits>> | undefined;
  /** Without a settings file there is no limit, and nothing to read one with. */
  const ask = async (): Promise<FleetLimits> => {
    if (!existsSync(join(home, 'config.toml'))) return NO_LIMITS;
    limits ??= import('../worker/run/fleet-limits.ts').then(({ openLimits }) => openLimits(home));
    // A settings file that is wrong is told where runs are made.
    return (await limits)().catch(() => NO_LIMITS);
  };
  return {
    /** All runs, newest first. */
    async list(): Promise<ListedRun[]> {
      const [{ runs }, most] = await Promise.all([store.list(), ask()]);
      return runs.map((run) => ({ ...run, ...told(heldBy(run, runs, most)) }));
    },
    async of(run: RunState): Promise<{ heldBy?: string }> {
      const most = await ask();
      if (!isLimited(most) || !couldStart(run)) return {};
      return told(heldBy(run, (await store.list()).runs, most));
    },
  };
}

function told(held: string | undefined): { heldBy?: string } {
  return held === undefined ? {} : { heldBy: held };
}
