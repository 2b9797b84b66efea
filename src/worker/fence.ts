import { HaloError } from '../core/failure/errors.ts';
import type { RunState } from '../core/run-state.ts';
import type { Store } from '../store/store.ts';

/** What tells one attempt from all others. */
export interface Fenced {
  epoch: number;
  story: { id: string };
}

/**
 * Refuses the word of an attempt that was overtaken: the run or the story was ended meanwhile (a person did it
 * elsewhere), or a later attempt at the story holds a newer epoch (this worker was thought dead). Throws RUN_ABORTED.
 * Ask it in the transaction that writes the word down.
 */
export function refuseOvertaken(state: RunState, { epoch, story }: Fenced): void {
  const { runId } = state;
  if (state.status === 'ended')
    throw new HaloError('RUN_ABORTED', `Run ${runId} has ended; ${story.id} does not land.`);
  const now = state.stories.find(({ id }) => id === story.id);
  if (now?.progress !== 'in_progress')
    throw new HaloError('RUN_ABORTED', `Story ${story.id} of run ${runId} was taken out; this try does not land.`);
  refuseOutdated(state, { epoch, story });
}

/** Refuses the word of an attempt at a story that another worker has taken over, whatever became of it since. Throws RUN_ABORTED. */
export function refuseOutdated({ runId, stories }: RunState, { epoch, story }: Fenced): void {
  const newest = stories.find(({ id }) => id === story.id)?.epoch ?? epoch;
  if (newest === epoch) return;
  throw new HaloError(
    'RUN_ABORTED',
    `Another worker has taken ${story.id} of run ${runId} over; this try does not land.`,
  );
}

/** The store of an attempt: what it keeps goes among the artifacts of the same attempt made anew, but not after that. */
export function fenceArtifacts(store: Store, runId: string, attempt: Fenced): Store {
  return {
    ...store,
    async writeArtifact(...artifact) {
      refuseOutdated(await store.readState(runId), attempt);
      return store.writeArtifact(...artifact);
    },
    async writePatch(...patch) {
      refuseOutdated(await store.readState(runId), attempt);
      return store.writePatch(...patch);
    },
  };
}
