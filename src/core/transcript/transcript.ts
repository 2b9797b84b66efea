import { eventLines } from '../journal/events.ts';
import type { EventLineOptions } from '../journal/event-row.ts';
import type { JournalEvent } from '../journal/events.ts';
import { formatElapsed, msBetween } from '../text/format-elapsed.ts';
import { safeLine } from '../text/safe-text.ts';
import { layOutLine, type TranscriptLine } from './transcript-line.ts';

/**
 * Formats an event as plain lines in aligned columns (elapsed time, story, label, text), without color. `startedAt` is the
 * ISO 8601 time from which elapsed time counts. Safe to print.
 */
export function transcribe(event: JournalEvent, startedAt: string, how: EventLineOptions = {}): string[] {
  const elapsed = formatElapsed(msBetween(startedAt, event.at));
  return describeEvent(event, how).map((line) => layOutLine(line, elapsed));
}

/** The lines of an event before layout. Most events have one line, some have none. */
export function describeEvent(event: JournalEvent, how: EventLineOptions = {}): TranscriptLine[] {
  const story = 'story' in event ? safeLine(event.story) : '';
  const lines = eventLines(event, how).map((line) => ({ story, ...line }));
  return how.live ? lines.filter(({ label }) => label !== '') : lines;
}
