import { HaloError } from '../core/errors.ts';
import type { Attempt } from './attempt-context.ts';

/**
 * Refuses to land for an attempt that was overtaken: the run has ended meanwhile (a person stopped it elsewhere),
 * or a later attempt holds a newer epoch (this worker was thought dead). Throws RUN_ABORTED.
 */
export async function refuseOvertaken(attempt: Attempt): Promise<void> {
  const { worker, runId, epoch, story } = attempt;
  const state = await worker.store.readState(runId);
  if (state.status === 'ended')
    throw new HaloError('RUN_ABORTED', `Run ${runId} has ended; ${story.id} does not land.`);
  if (state.epoch !== epoch) {
    throw new HaloError(
      'RUN_ABORTED',
      `Another worker has taken ${story.id} of run ${runId} over; this try does not land.`,
    );
  }
}
