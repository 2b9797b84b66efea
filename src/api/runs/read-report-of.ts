import { toHaloError } from '../../core/failure/errors.ts';
import type { JournalEvent } from '../../core/journal/events.ts';
import type { JournalStore } from '../../store/journal-store.ts';

/** A run whose journal could not be read, and why. */
export interface UnreadableRun {
  runId: string;
  reason: string;
}

/** What a report read, and which runs it lacks. */
export interface ReportOf<T> {
  entries: T[];
  unreadable: UnreadableRun[];
}

/** A journal that cannot be read is named in the report, so that one damaged run does not hide all others. */
export async function readReportOf<T>(
  store: Pick<JournalStore, 'follow'>,
  runId: string,
  read: (events: AsyncIterable<JournalEvent>) => Promise<T[]>,
): Promise<ReportOf<T>> {
  try {
    return { entries: await read(store.follow(runId, { after: 0, follow: false })), unreadable: [] };
  } catch (error) {
    return { entries: [], unreadable: [{ runId, reason: toHaloError(error).message }] };
  }
}
