import type { Config } from '../../config/config.ts';
import { currentDecision, type RunState } from '../../core/run/state.ts';
import { HaloError } from '../../core/failure/errors.ts';

/** Throws LAND_REFUSED if the run was rejected, or if its configuration requires an approval that is missing. */
export function assertApproved(state: RunState, { approval }: Pick<Config, 'approval'>): void {
  const { runId } = state;
  const decision = currentDecision(state);
  if (decision?.verdict === 'rejected') {
    throw new HaloError(
      'LAND_REFUSED',
      `${decision.by} rejected the result of run ${runId}: ${decision.reason ?? ''}`,
      {
        hint: `Run \`halo approve ${runId}\` to approve it after all.`,
      },
    );
  }
  if (approval.mode !== 'run' || decision !== undefined) return;
  throw new HaloError('LAND_REFUSED', `Run ${runId} is waiting for approval.`, {
    hint: `Review it with \`halo diff ${runId}\`, then run \`halo approve ${runId}\`.`,
  });
}
