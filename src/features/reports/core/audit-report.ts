import { eventIs, eventTypes, type EventType } from '../../../core/journal/events.ts';
import type { JournalEvent } from '../../../core/journal/events.ts';
import { describeEvent } from '../../../core/transcript/transcript.ts';

/** Which events an audit lists: what people did, what started and ended, what halo decided, and what changed repositories. */
export const AUDITED_TYPES = eventTypes('audited');

/** One line of the audit. */
export interface AuditEntry {
  /** ISO 8601 */
  at: string;
  runId: string;
  repo: string;
  type: EventType;
  /** The user who did it; for `run.created`, who submitted the run. Absent if halo did it. */
  by?: string;
  story?: string;
  /** The commit that landed or that a decision is about. */
  commit?: string;
  /** What happened, in one line that is safe to print. */
  text: string;
}

/** The line of an event, or undefined for events that an audit does not list. */
export function toAuditEntry(event: JournalEvent, run: { runId: string; repo: string }): AuditEntry | undefined {
  if (!eventIs(event, 'audited')) return undefined;
  const by = event.type === 'run.created' ? event.user : 'by' in event ? event.by : undefined;
  const commit = commitOf(event);
  return {
    at: event.at,
    ...run,
    type: event.type,
    ...(by !== undefined && { by }),
    ...('story' in event && { story: event.story }),
    ...(commit !== undefined && { commit }),
    text: textOf(event),
  };
}

/** Logs have no line for the start of a run: that of its first story follows. */
function textOf(event: JournalEvent): string {
  if (event.type === 'run.started') return 'STARTED';
  return describeEvent(event)[0]?.text.trim() ?? '';
}

function commitOf(event: JournalEvent): string | undefined {
  switch (event.type) {
    case 'story.ended':
      return event.commit ?? event.held?.commit;
    case 'story.approved':
    case 'approval.given':
    case 'story.rejected':
    case 'feedback.given':
      return event.commit;
    case 'run.approved':
    case 'run.rejected':
      return event.tip;
    case 'run.landed':
      return event.to;
    default:
      return undefined;
  }
}
