import { HaloError } from '../core/errors.ts';
import type { RunState } from '../core/run-state.ts';

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
  if (now.epoch !== epoch) {
    throw new HaloError(
      'RUN_ABORTED',
      `Another worker has taken ${story.id} of run ${runId} over; this try does not land.`,
    );
  }
}
