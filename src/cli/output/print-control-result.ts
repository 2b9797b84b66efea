import type { Steered } from '../../api/operations.ts';
import { safeLine } from '../../core/safe-text.ts';
import type { Cli } from '../cli.ts';
import { canGoOn, NO_WORKER } from '../waiting-text.ts';

const LENGTH = 500;

/** Tells what a person's word did to a run, `word` or `as before`, and when nobody is there to go on with it. */
export async function showSteered(steered: Steered, { word, json, cli }: { word: string; json: boolean; cli: Cli }) {
  if (json) return cli.printJson(steered);
  const { runId, changed, says } = steered;
  const what = changed ? cli.paint('good', word) : cli.paint('quiet', 'as before');
  await cli.print(`${what}  ${runId}  ${safeLine(says, LENGTH)}`);
  const { state, workers } = await cli.withOperations((operations) => operations.get(runId));
  if (!canGoOn(state) || workers > 0) return;
  const isHere = (await cli.services.readHost()).apiUrl === undefined;
  const alone = isHere ? `, or go on with it here: \`halo run --resume ${runId}\`` : '';
  await cli.note(cli.paintErr('warn', `${NO_WORKER}${alone}`));
}
