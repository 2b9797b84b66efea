import type { StoryLine } from '../transcript/transcript-line.ts';
import { ATTEMPT_EVENTS, type AttemptEvents } from './attempt-events.ts';
import type { Envelope, EventFact, EventLineOptions, EventRow, EventRows } from './event-row.ts';
import { RUN_EVENTS, type RunEvents } from './run-events.ts';
import { STORY_EVENTS, type StoryEvents } from './story-events.ts';

type Events = RunEvents & StoryEvents & AttemptEvents;

export type EventType = keyof Events;

/** An event without its envelope. */
export type JournalEntry = { [T in EventType]: { type: T } & Events[T] }[EventType];

/** One line of journal.jsonl. */
export type JournalEvent = Envelope & JournalEntry;

const EVENTS: EventRows<Events> = { ...RUN_EVENTS, ...STORY_EVENTS, ...ATTEMPT_EVENTS };

/** Whether this version knows the event type; newer versions may have more. */
export function isEventType(type: string): boolean {
  return Object.hasOwn(EVENTS, type);
}

export function eventIs({ type }: Pick<JournalEvent, 'type'>, fact: EventFact): boolean {
  return EVENTS[type].is.includes(fact);
}

/** The types of which this is true. */
export function eventTypes(fact: EventFact): EventType[] {
  return (Object.keys(EVENTS) as EventType[]).filter((type) => eventIs({ type }, fact));
}

/** The lines of an event, without its story. */
export function eventLines(event: JournalEvent, how: EventLineOptions): StoryLine[] {
  const row: EventRow<JournalEvent> = EVENTS[event.type];
  return row.lines(event, how);
}
