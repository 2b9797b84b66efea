import { HaloError } from '../../core/failure/errors.ts';
import type { JournalEntry } from '../../core/journal/events.ts';
import type { Phase } from '../../core/journal/phase.ts';
import type { RunState } from '../../core/run/state.ts';
import { failpoint } from '../../lib/failpoint.ts';
import type { ArtifactStore } from '../../store/artifact-store.ts';
import type { JournalStore } from '../../store/journal-store.ts';
import type { AttemptIdentity } from './attempt-identity.ts';

type WithoutRef<T> = T extends { story: string; attempt: number } ? Omit<T, 'story' | 'attempt'> : never;

/** A journal entry about an attempt, without the story and the attempt number; the attempt's journal adds both. */
export type AttemptEntry = WithoutRef<JournalEntry>;

/** Where an attempt writes its events. */
export interface AttemptJournal {
  /** It drops all events: the attempt belongs to no run. */
  silent?: true;
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
  silent: true,
  report: () => Promise.resolve(),
  phase: (_phase, action) => action(),
};

/** What identifies an attempt within its run. */
export type FencedAttempt = Pick<AttemptIdentity, 'story' | 'epoch'>;

/**
 * Throws RUN_ABORTED if the attempt may no longer write: a person ended the run or the story, or a later attempt holds a
 * newer epoch because this worker was taken for dead. Call it in the transaction that appends the entry.
 */
export function assertCurrent(state: RunState, { epoch, story }: FencedAttempt): void {
  const { runId } = state;
  if (state.status === 'ended') throw new HaloError('RUN_ABORTED', `Run ${runId} has ended; ${story} does not land.`);
  const now = state.stories.find(({ id }) => id === story);
  if (now?.progress !== 'in_progress')
    throw new HaloError('RUN_ABORTED', `Story ${story} of run ${runId} was cancelled; this attempt will not land.`);
  assertNewestEpoch(state, { epoch, story });
}

/** Throws RUN_ABORTED if another worker has taken over the story since this attempt began. */
export function assertNewestEpoch({ runId, stories }: RunState, { epoch, story }: FencedAttempt): void {
  const newest = stories.find(({ id }) => id === story)?.epoch ?? epoch;
  if (newest === epoch) return;
  throw new HaloError(
    'RUN_ABORTED',
    `Another worker has taken over ${story} of run ${runId}; this attempt will not land.`,
  );
}

/** The store of an attempt. Throws RUN_ABORTED on writes after another worker has taken over the attempt. */
export function fenceArtifacts<S extends ArtifactStore & JournalStore>(
  store: S,
  runId: string,
  attempt: FencedAttempt,
): S {
  const fence = async () => assertNewestEpoch(await store.readState(runId), attempt);
  return {
    ...store,
    async writeArtifact(...artifact) {
      await fence();
      return store.writeArtifact(...artifact);
    },
    async writePatch(...patch) {
      await fence();
      return store.writePatch(...patch);
    },
    async placeArtifact(...artifact) {
      await fence();
      return store.placeArtifact(...artifact);
    },
    openArtifact: (location, name) => store.openArtifact(location, name, fence),
    openRaw: (location, onLines) => store.openRaw(location, onLines, fence),
  };
}
