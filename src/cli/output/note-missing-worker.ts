import type { RunState } from '../../core/run/state.ts';
import { canGoOn, NO_WORKER } from '../../tui/run-text.ts';
import type { Cli } from '../cli.ts';

/** Prints a note below a list of runs if one of them could continue but no worker is running. */
export async function noteMissingWorker(runs: readonly RunState[], cli: Cli): Promise<void> {
  const open = runs.filter(canGoOn);
  const views = await cli.withOperations((operations) => Promise.all(open.map(({ runId }) => operations.get(runId))));
  if (views.some(({ workers }) => workers === 0)) await cli.note(cli.paintErr('warn', NO_WORKER));
}
