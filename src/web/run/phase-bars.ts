import type { JournalEvent } from '../../core/journal/events.ts';
import type { Phase } from '../../core/journal/phase.ts';

/** One phase of an attempt, in ms since the start of the run. */
export interface PhaseBar {
  phase: Phase;
  from: number;
  /** Absent while it is running. */
  to?: number;
}

/** An attempt at a story, with its phases in order. */
export interface AttemptBars {
  story: string;
  attempt: number;
  bars: PhaseBar[];
  /** The stop reason; absent while it is running. */
  ended?: string;
  summary?: string;
}

/** Computes from a journal when each phase of each attempt ran, in order of their starts. */
export function toPhaseBars(events: readonly JournalEvent[]): AttemptBars[] {
  const attempts = new Map<string, AttemptBars>();
  let start: number | undefined;
  for (const event of events) {
    if (event.type === 'run.started') start ??= Date.parse(event.at);
    if (!('story' in event) || !('attempt' in event)) continue;
    const { story, attempt } = event as { story: string; attempt: number };
    const at = Date.parse(event.at) - (start ?? Date.parse(event.at));
    const key = JSON.stringify([story, attempt]);
    const found = attempts.get(key) ?? { story, attempt, bars: [] };
    attempts.set(key, found);
    if (event.type === 'phase.started') found.bars.push({ phase: event.phase, from: at });
    if (event.type === 'phase.ended') close(found, event.phase, at);
    if (event.type === 'story.ended') {
      found.ended = event.stopReason;
      found.summary = event.summary;
      // A phase that failed has no end of its own.
      for (const { phase } of found.bars) close(found, phase, at);
    }
  }
  return [...attempts.values()];
}

function close({ bars }: AttemptBars, phase: Phase, at: number): void {
  const bar = bars.findLast((each) => each.phase === phase && each.to === undefined);
  if (bar !== undefined) bar.to = at;
}
