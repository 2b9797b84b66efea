import type { JournalEvent } from '../../../core/journal/events.ts';
import { msBetween } from '../../../core/text/format-elapsed.ts';

/** The ends of an attempt; what a person decides afterwards is not part of it. */
const ENDS = ['story.ended', 'story.disturbed', 'story.returned', 'story.stopped', 'story.postponed'];

/** How long the latest attempt at each story ran, in ms, without waits for approval. */
export function measureAttempts(events: readonly JournalEvent[]): Record<string, number> {
  const [started, measured] = [new Map<string, string>(), new Map<string, number>()];
  // An attempt that is approved may continue with its gates and its landing.
  const approved = new Map<string, { attempt: number; ms: number }>();
  for (const event of events) {
    if (!('story' in event)) continue;
    const from = started.get(event.story);
    if (event.type === 'story.started') {
      started.set(event.story, event.at);
      measured.delete(event.story);
      if (approved.get(event.story)?.attempt !== event.attempt) approved.delete(event.story);
    } else if (event.type === 'approval.given') {
      approved.set(event.story, { attempt: event.attempt, ms: measured.get(event.story) ?? 0 });
    } else if (ENDS.includes(event.type) && from !== undefined) {
      measured.set(event.story, (approved.get(event.story)?.ms ?? 0) + msBetween(from, event.at));
    }
  }
  return Object.fromEntries(measured);
}
