import type { RunView } from '../../api/operations/requests.ts';
import type { ControlResult } from '../../core/run/control-result.ts';
import { safeLine } from '../../core/text/safe-text.ts';
import type { Cli } from '../cli.ts';
import { canContinue, missingWorker } from '../../view/run-words.ts';

const LENGTH = 500;

/** Prints the result of a control command (`word`, or `as before`), and a note when no worker is running. */
export async function printControlResult(
  result: ControlResult,
  { word, json, cli }: { word: string; json: boolean; cli: Cli },
) {
  if (json) return cli.printJson(result);
  const { runId, changed, says, warnings = [] } = result;
  const what = changed ? cli.paint('good', word) : cli.paint('quiet', 'as before');
  await cli.print(`${what}  ${runId}  ${safeLine(says, LENGTH)}`);
  await cli.note(...warnings.map((text) => `${cli.paintErr('warn', 'warning:')} ${safeLine(text, LENGTH)}`));
  await noteIfNoWorker(await cli.withOperations((operations) => operations.get(runId)), cli);
}

/** Prints a note if the run could continue but no worker is running. */
export async function noteIfNoWorker(
  { state, ...takers }: Pick<RunView, 'state' | 'workers' | 'draining'>,
  cli: Cli,
): Promise<void> {
  const missing = canContinue(state) ? missingWorker(takers) : undefined;
  if (missing === undefined) return;
  const isHere = (await cli.services.readHost()).apiUrl === undefined;
  const alone = isHere ? `, or continue here: \`halo run --resume ${state.runId}\`` : '';
  await cli.note(cli.paintErr('warn', `${missing}${alone}`));
}
