import { couldStart, heldBy, isLimited } from '../core/held-by.ts';
import type { RunState } from '../core/run-state.ts';
import type { Store } from '../store/store.ts';
import { openLimits } from '../worker/fleet-limits.ts';
import type { ListedRun } from './operations.ts';

/** Tells which runs a limit of the fleet holds back, as the journals have it: Redis need not be there. */
export function openHeldRuns(home: string, store: Pick<Store, 'list'>) {
  const limits = openLimits(home);
  // A settings file that is wrong is told where runs are made.
  const ask = () => limits().catch(() => ({ perAgent: {} }));
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
