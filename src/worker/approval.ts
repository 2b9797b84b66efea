import type { Config } from '../config/config.ts';
import { decisionOn } from '../core/decision.ts';
import { HaloError } from '../core/failure/errors.ts';
import type { RunState } from '../core/run-state.ts';

/** Throws LAND_REFUSED unless a person said yes to what the run made, where its configuration asks for that. */
export function refuseUnapproved(state: RunState, { approval }: Pick<Config, 'approval'>): void {
  const { runId } = state;
  const decision = decisionOn(state);
  if (decision?.verdict === 'rejected') {
    throw new HaloError('LAND_REFUSED', `${decision.by} refused what run ${runId} made: ${decision.reason ?? ''}`, {
      hint: `\`halo approve ${runId}\` takes that back.`,
    });
  }
  if (approval.mode !== 'run' || decision !== undefined) return;
  throw new HaloError('LAND_REFUSED', `Run ${runId} waits for approval.`, {
    hint: `Look at it, then say yes: \`halo diff ${runId}\`, \`halo approve ${runId}\`.`,
  });
}
