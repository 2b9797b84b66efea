import type { StopReason } from '../failure/stop-reason.ts';
import type { NeedStatus } from '../journal/event-parts.ts';
import type { RunRepo } from '../journal/run-created.ts';

/** A run that must end with SUCCESS before another one starts. */
export interface Need {
  run: string;
  now: NeedStatus;
  /** How it ended, if not with SUCCESS. */
  stopReason?: StopReason;
}

interface Needing {
  needs: Need[];
}

export function openNeeds(runIds: readonly string[]): Need[] {
  return runIds.map((run) => ({ run, now: 'open' }));
}

/** Dependencies that have not ended with SUCCESS; while there are any, the run does not start. */
export function unmetNeeds(state: Needing): Need[] {
  return state.needs.filter(({ now }) => now !== 'met');
}

/** Dependencies that ended without SUCCESS; they block the run until a user retries them. */
export function failedNeeds(state: Needing): Need[] {
  return state.needs.filter(({ now }) => now === 'failed');
}

/** Returns the state after a dependency ended or was reopened. `base`: the new base of this run. */
export function changeNeed<S extends Needing & { repo: RunRepo; tip: string }>(
  state: S,
  event: Need & { base?: string },
): S {
  const needs = state.needs.map((need): Need => {
    // A met dependency stays met, because the run may have started from its result.
    if (need.run !== event.run || need.now === 'met') return need;
    const reason = event.stopReason === undefined ? {} : { stopReason: event.stopReason };
    return { run: need.run, now: event.now, ...reason };
  });
  if (event.base === undefined || !unmetNeeds(state).some(({ run }) => run === event.run)) return { ...state, needs };
  return { ...state, needs, repo: { ...state.repo, base: event.base }, tip: event.base };
}

/** The status of a dependency, given the state of the run. */
export function needStatus(needed: { status: string; stopReason?: StopReason }): NeedStatus {
  if (needed.status !== 'ended') return 'open';
  return needed.stopReason === 'SUCCESS' ? 'met' : 'failed';
}

/** `waiting for 0tbq4m8k`, `blocked: 0tbq4m8k ended with GATE_FAILED`; undefined if all dependencies are met. */
export function needsText(state: Needing): string | undefined {
  const failed = failedNeeds(state);
  if (failed.length > 0) {
    return `blocked: ${failed.map(({ run, stopReason }) => `${run} ended with ${stopReason ?? 'a failure'}`).join(', ')}`;
  }
  const open = unmetNeeds(state);
  return open.length === 0 ? undefined : `waiting for ${open.map(({ run }) => run).join(', ')}`;
}
