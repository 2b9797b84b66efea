import { HaloError } from '../../core/failure/errors.ts';
import type { RunState } from '../../core/run/state.ts';
import type { ArtifactStore } from '../../store/artifact-store.ts';
import type { JournalStore } from '../../store/journal-store.ts';
import type { AttemptIdentity } from './attempt-identity.ts';

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
    openArtifact: (location, name) => store.openArtifact(location, name, fence),
    openRaw: (location, onLines) => store.openRaw(location, onLines, fence),
  };
}
