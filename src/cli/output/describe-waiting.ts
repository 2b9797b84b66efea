import type { Cli } from '../cli.ts';
import type { RunView } from '../../api/operations.ts';
import { unmetNeeds } from '../../core/run/run-dependencies.ts';
import type { RunState } from '../../core/run/state.ts';
import { safeLine } from '../../core/text/safe-text.ts';

/** Shown if a run could continue but no worker is running. */
export const NO_WORKER = 'no worker is running: start one with `halo worker`';

/** Why an active run makes no progress at the moment, one sentence per reason. */
export function waitingFor({ state, workers, heldBy }: Omit<RunView, 'record' | 'dir'>): string[] {
  if (state.status === 'ended') return [];
  const { paused } = state;
  if (paused !== undefined) return [`paused by ${safeLine(paused.by)}: \`halo resume ${state.runId}\` resumes it`];
  const idle = canGoOn(state) && workers === 0 ? [NO_WORKER] : [];
  const held = heldBy === undefined ? [] : [`${heldBy} is reached: the next story starts when another one ends`];
  return [...idle, ...held];
}

/** Whether a worker could execute something, now or later. */
export function canGoOn(state: RunState): boolean {
  return state.status !== 'ended' && state.paused === undefined && unmetNeeds(state).length === 0;
}

/** Prints a note below a list of runs if one of them could continue but no worker is running. */
export async function noteMissingWorker(runs: readonly RunState[], cli: Cli): Promise<void> {
  const open = runs.filter(canGoOn);
  const views = await cli.withOperations((operations) => Promise.all(open.map(({ runId }) => operations.get(runId))));
  if (views.some(({ workers }) => workers === 0)) await cli.note(cli.paintErr('warn', NO_WORKER));
}
