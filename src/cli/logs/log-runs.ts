import type { Operations } from '../../api/operations.ts';
import type { ListedRun } from '../../api/runs/limited-runs.ts';
import type { RunState } from '../../core/run/state.ts';
import { findBatch, groupRuns, resolveRun } from '../options/resolve-run.ts';
import type { Cli } from '../cli.ts';

interface NamedRuns {
  references: readonly string[];
  /** A batch, by a part of its id. */
  batch?: string;
  follow?: true;
}

/**
 * The runs to show: the named ones in their order, others oldest first. Following without a name means all runs that
 * have not ended or, if there are none, the newest of this repository. Throws RUN_NOT_FOUND.
 */
export async function namedRuns(
  operations: Operations,
  { references, batch, follow }: NamedRuns,
  cli: Cli,
): Promise<RunState[]> {
  const runs: RunState[] = [];
  if (batch !== undefined) runs.push(...findBatch(groupRuns((await operations.listRuns({ batch })).runs), batch)[1]);
  else if (follow && references.length === 0) runs.push(...active((await operations.listRuns({ ended: 0 })).runs));
  const asked = runs.length === 0 && references.length === 0 ? [undefined] : references;
  for (const reference of asked) {
    const { state } = await operations.getRun({ runId: await resolveRun(operations, reference, cli) });
    if (!runs.some(({ runId }) => runId === state.runId)) runs.push(state);
  }
  return runs;
}

function active(runs: readonly ListedRun[]): RunState[] {
  return runs.filter(({ status }) => status !== 'ended').reverse();
}
