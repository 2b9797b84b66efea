import { HaloError } from '../core/errors.ts';
import type { RunState } from '../core/run-state.ts';
import type { Attempt } from './attempt-context.ts';

/**
 * Refuses the word of an attempt that was overtaken: the run has ended meanwhile (a person stopped it elsewhere), or a
 * later attempt at the story holds a newer epoch (this worker was thought dead). Throws RUN_ABORTED. Ask it in the transaction
 * that writes the word down.
 */
export function refuseOvertaken(state: RunState, { epoch, story }: Pick<Attempt, 'epoch' | 'story'>): void {
  const { runId } = state;
  if (state.status === 'ended')
    throw new HaloError('RUN_ABORTED', `Run ${runId} has ended; ${story.id} does not land.`);
  const now = state.stories.find(({ id }) => id === story.id);
  if (now?.epoch !== epoch || now.progress !== 'in_progress') {
    throw new HaloError(
      'RUN_ABORTED',
      `Another worker has taken ${story.id} of run ${runId} over; this try does not land.`,
    );
  }
}
