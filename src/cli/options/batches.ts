import { HaloError } from '../../core/failure/errors.ts';
import type { RunState } from '../../core/run/state.ts';

/** The batches, newest first, each in the order in which its runs run. */
export function groupRuns(runs: readonly RunState[]): Map<string, RunState[]> {
  const batches = new Map<string, RunState[]>();
  for (const run of runs) {
    if (run.batch === undefined) continue;
    batches.set(run.batch.id, [...(batches.get(run.batch.id) ?? []), run]);
  }
  for (const members of batches.values()) members.sort((a, b) => placeOf(a) - placeOf(b));
  return batches;
}

function placeOf({ batch }: RunState): number {
  return batch?.place ?? 0;
}

/** The only batch whose id contains `part`, and its runs. Throws RUN_NOT_FOUND. */
export function findBatch(batches: ReadonlyMap<string, RunState[]>, part: string): [string, RunState[]] {
  const found = [...batches].filter(([id]) => id.includes(part.toLowerCase()));
  const [only] = found;
  if (only !== undefined && found.length === 1) return only;
  const what = only === undefined ? 'There is no batch' : `${found.length} batches have ids with`;
  throw new HaloError('RUN_NOT_FOUND', `${what} ${JSON.stringify(part.slice(0, 64))}.`, {
    hint: 'Run `halo batch` to list them.',
  });
}
