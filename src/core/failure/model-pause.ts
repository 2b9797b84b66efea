import type { AttemptRef } from '../journal/event-parts.ts';
import type { JournalEntry } from '../journal/events.ts';
import { storyOf, type RunState } from '../run/state.ts';
import { msBetween } from '../text/format-elapsed.ts';

/** No request to a model is allowed until a time (ISO 8601): its provider requested it, or its configured rate is reached. */
export interface ModelPause {
  model: string;
  by: 'provider' | 'rate';
  until: string;
}

/**
 * The journal entry with which an attempt waits for its model, at the time `now` (ISO 8601); undefined if it would wait
 * for longer than `maxWaitMs` in total. The attempt is not used up, nor a retry.
 */
export function postponeAttempt(
  state: RunState,
  { story, attempt, pause, why }: AttemptRef & { pause: ModelPause; why: string },
  { maxWaitMs, now }: { maxWaitMs: number; now: string },
): (JournalEntry & { type: 'story.postponed' }) | undefined {
  const { waitedMs = 0 } = storyOf(state, story);
  if (waitedMs + msBetween(now, pause.until) > maxWaitMs) return undefined;
  const { model, by, until: notBefore } = pause;
  return { type: 'story.postponed', story, attempt, model, by, why, notBefore };
}
