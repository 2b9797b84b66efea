import type { JournalEntry } from './events.ts';

const EVENT_TYPES: Record<JournalEntry['type'], true> = {
  'run.created': true,
  'need.changed': true,
  'run.started': true,
  'run.claimed': true,
  'run.ended': true,
  'run.paused': true,
  'run.resumed': true,
  'run.retried': true,
  'run.replanned': true,
  'run.approved': true,
  'run.rejected': true,
  'run.landed': true,
  'marks.failed': true,
  'marks.caught_up': true,
  'story.started': true,
  'phase.started': true,
  'phase.ended': true,
  'setup.ended': true,
  'agent.activity': true,
  'network.asked': true,
  'model.used': true,
  'model.paused': true,
  'gate.started': true,
  'gate.ended': true,
  'story.ended': true,
  'story.disturbed': true,
  'story.returned': true,
  'retry.scheduled': true,
  'breaker.held': true,
  'breaker.opened': true,
  'breaker.reset': true,
  'secrets.suspected': true,
  'tests.compared': true,
  'story.merged': true,
  'note.failed': true,
  'story.approved': true,
  'approval.given': true,
  'story.rejected': true,
  'story.cancelled': true,
  'story.stopped': true,
};

/** Whether this halo knows what such an event means; a newer one may know more. */
export function isEventType(type: string): boolean {
  return Object.hasOwn(EVENT_TYPES, type);
}
