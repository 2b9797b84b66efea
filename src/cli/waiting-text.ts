import type { RunView } from '../api/operations.ts';
import { unmetNeeds } from '../core/run/run-dependencies.ts';
import type { RunState } from '../core/run-state.ts';
import { safeLine } from '../core/safe-text.ts';

/** What to say when a run could go on and nobody is there to do it. */
export const NO_WORKER = 'no worker is running: start one with `halo worker`';

/** Why a run that has not ended does not go on at the moment, a sentence each. */
export function waitingFor({ state, workers, heldBy }: Omit<RunView, 'record' | 'dir'>): string[] {
  if (state.status === 'ended') return [];
  const { paused } = state;
  if (paused !== undefined) return [`paused by ${safeLine(paused.by)}: \`halo resume ${state.runId}\` lets it go on`];
  const nobody = canGoOn(state) && workers === 0 ? [NO_WORKER] : [];
  const held = heldBy === undefined ? [] : [`${heldBy} is reached: its next story starts when another one ends`];
  return [...nobody, ...held];
}

/** Whether a worker would find something to do, now or later. */
export function canGoOn(state: RunState): boolean {
  return state.status !== 'ended' && state.paused === undefined && unmetNeeds(state).length === 0;
}
