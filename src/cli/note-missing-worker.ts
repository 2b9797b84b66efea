import type { RunState } from '../core/run-state.ts';
import type { Cli } from './cli.ts';
import { canGoOn, NO_WORKER } from './waiting-text.ts';

/** Says so below a list of runs when one of them could go on and nobody is there to do it. */
export async function noteMissingWorker(runs: readonly RunState[], cli: Cli): Promise<void> {
  const open = runs.filter(canGoOn);
  const views = await cli.withOperations((operations) => Promise.all(open.map(({ runId }) => operations.get(runId))));
  if (views.some(({ workers }) => workers === 0)) await cli.note(cli.paintErr('warn', NO_WORKER));
}
