import type { JournalEntry } from '../../core/journal/events.ts';
import type { Phase } from '../../core/journal/phase.ts';
import { failpoint } from '../../lib/failpoint.ts';
import type { JournalStore } from '../../store/journal-store.ts';
import type { AttemptIdentity } from './attempt-identity.ts';
import { assertNewestEpoch } from './fence.ts';

type WithoutRef<T> = T extends { story: string; attempt: number } ? Omit<T, 'story' | 'attempt'> : never;

/** A journal entry about an attempt, without the story and the attempt number; the attempt's journal adds both. */
export type AttemptEntry = WithoutRef<JournalEntry>;

/** Where an attempt writes its events. */
export interface AttemptJournal {
  /** Appends entries. Throws RUN_ABORTED if another worker has taken over the story; `model.used` is always kept. */
  report(...entries: AttemptEntry[]): Promise<void>;
  /** Runs an action between a `phase.started` and a `phase.ended` event, which holds the elapsed time. */
  phase<T>(phase: Phase, action: () => Promise<T>): Promise<T>;
}

/** The journal of an attempt: events go into the journal of its run. */
export function openAttemptJournal(
  store: JournalStore,
  writer: Pick<AttemptIdentity, 'runId' | 'story' | 'attempt' | 'epoch'>,
): AttemptJournal {
  const attemptRef = { story: writer.story, attempt: writer.attempt };
  const report = async (...entries: AttemptEntry[]) => {
    await store.transact(writer.runId, (state) => {
      // Money that was spent counts, whichever worker has the story now.
      if (entries.some(({ type }) => type !== 'model.used')) assertNewestEpoch(state, writer);
      return { entries: entries.map((entry): JournalEntry => ({ ...entry, ...attemptRef })), result: undefined };
    });
  };
  return {
    report,
    phase: async (phase, action) => {
      const started = performance.now();
      await failpoint(`${phase}.before`);
      await report({ type: 'phase.started', phase });
      const result = await action();
      await report({ type: 'phase.ended', phase, ms: Math.round(performance.now() - started) });
      await failpoint(`${phase}.after`);
      return result;
    },
  };
}

/** The journal of an attempt that belongs to no run, as in `halo verify` and `halo replay`: it drops all events. */
export const SILENT_JOURNAL: AttemptJournal = {
  report: () => Promise.resolve(),
  phase: (_phase, action) => action(),
};
