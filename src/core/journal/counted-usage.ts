import type { Usage } from '../agent.ts';
import type { JournalEvent } from './events.ts';

/** Events with which an attempt stops running. */
const STOPS: readonly JournalEvent['type'][] = [
  'story.ended',
  'story.stopped',
  'story.disturbed',
  'story.returned',
  'story.postponed',
];

/**
 * The usage that an event adds to its attempt, its story and its run. An attempt whose responses were counted one by one
 * is metered: the sum that its end repeats adds nothing.
 */
export function countedUsage(event: JournalEvent, isMetered: boolean): { model?: string; usage: Usage } | undefined {
  if (event.type === 'model.used') return { model: event.model, usage: event.usage };
  const hasSum = event.type === 'story.ended' || event.type === 'story.stopped';
  return hasSum && !isMetered ? { usage: event.usage } : undefined;
}

/** Whether the attempt is metered after an event of its story. */
export function isMeteredAfter(event: JournalEvent, isMetered: boolean): boolean {
  if (event.type === 'model.used') return true;
  return event.type !== 'story.started' && !STOPS.includes(event.type) && isMetered;
}

export function isNothing({ requests, inputTokens, outputTokens, costUsd = 0 }: Usage): boolean {
  return requests === 0 && inputTokens === 0 && outputTokens === 0 && costUsd === 0;
}
