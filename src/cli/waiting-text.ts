import type { RunView } from '../api/operations.ts';
import { unmetNeeds } from '../core/needs.ts';
import type { RunState } from '../core/run-state.ts';
import { safeLine } from '../core/safe-text.ts';

/** What to say when a run could go on and nobody is there to do it. */
export const NO_WORKER = 'no worker is running: start one with `halo worker`';

/** Why a run that has not ended does not go on at the moment, a sentence each. `now` is ISO 8601. */
export function waitingFor({ state, workers, heldBy }: Omit<RunView, 'record' | 'dir'>, now: string): string[] {
  if (state.status === 'ended') return [];
  const { paused } = state;
  if (paused !== undefined) return [`paused by ${safeLine(paused.by)}: \`halo resume ${state.runId}\` lets it go on`];
  const nobody = canGoOn(state) && workers === 0 ? [NO_WORKER] : [];
  const held = heldBy === undefined ? [] : [`${heldBy} is reached: its next story starts when another one ends`];
  return [...nobody, ...held, ...backOffs(state, now)];
}

/** Whether a worker would find something to do, now or later. */
export function canGoOn(state: RunState): boolean {
  return state.status !== 'ended' && state.paused === undefined && unmetNeeds(state).length === 0;
}

function backOffs({ stories }: RunState, now: string): string[] {
  return stories.flatMap(({ id, waiting }) => {
    if (waiting === undefined || waiting.notBefore <= now) return [];
    return [`${safeLine(id)}: next attempt at ${clock(waiting.notBefore)} (${safeLine(waiting.why, 120)})`];
  });
}

/** The time of day here, `02:14:30`. */
function clock(iso: string): string {
  const pad = (part: number) => String(part).padStart(2, '0');
  const at = new Date(iso);
  return [at.getHours(), at.getMinutes(), at.getSeconds()].map(pad).join(':');
}
