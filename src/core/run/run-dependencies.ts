import type { JournalEvent, NeedStatus, RunRepo } from '../journal/events.ts';
import type { StopReason } from '../failure/stop-reason.ts';

/** A run that must end with SUCCESS before another one starts. */
export interface Need {
  run: string;
  now: NeedStatus;
  /** How it ended, when that is not SUCCESS. */
  stopReason?: StopReason;
}

/** What holds a run back, as its state says. */
interface Needing {
  needs: Need[];
}

export function openNeeds(runIds: readonly string[]): Need[] {
  return runIds.map((run) => ({ run, now: 'open' }));
}

/** Runs that have not ended with SUCCESS yet; while there are any, the run does not start. */
export function unmetNeeds(state: Needing): Need[] {
  return state.needs.filter(({ now }) => now !== 'met');
}

/** Of the runs it waits for, those that ended otherwise: until one of them is retried, nothing happens by itself. */
export function failedNeeds(state: Needing): Need[] {
  return state.needs.filter(({ now }) => now === 'failed');
}

/** The state after one of the runs it waits for ended or goes on again. */
export function changeNeed<S extends Needing & { repo: RunRepo; tip: string }>(
  state: S,
  event: JournalEvent & { type: 'need.changed' },
): S {
  const needs = state.needs.map((need): Need => {
    // What was met stays so: by now the run may have landed something on its base.
    if (need.run !== event.run || need.now === 'met') return need;
    const reason = event.stopReason === undefined ? {} : { stopReason: event.stopReason };
    return { run: need.run, now: event.now, ...reason };
  });
  if (event.base === undefined || !unmetNeeds(state).some(({ run }) => run === event.run)) return { ...state, needs };
  return { ...state, needs, repo: { ...state.repo, base: event.base }, tip: event.base };
}

/** How a need stands, as the needed run does. Its end counts as final until somebody makes it go on. */
export function needStatus(needed: { status: string; stopReason?: StopReason }): NeedStatus {
  if (needed.status !== 'ended') return 'open';
  return needed.stopReason === 'SUCCESS' ? 'met' : 'failed';
}

/** `waits for 0tbq4m8k`, `blocked: 0tbq4m8k ended with GATE_FAILED`; undefined when nothing holds the run back. */
export function needsText(state: Needing): string | undefined {
  const failed = failedNeeds(state);
  if (failed.length > 0) {
    return `blocked: ${failed.map(({ run, stopReason }) => `${run} ended with ${stopReason ?? 'a failure'}`).join(', ')}`;
  }
  const open = unmetNeeds(state);
  return open.length === 0 ? undefined : `waits for ${open.map(({ run }) => run).join(', ')}`;
}
