import type { Cli } from '../cli.ts';
import type { Define } from '../define.ts';
import { showSteered } from '../show-steered.ts';

interface Flags {
  story?: string;
  json?: true;
}

export const define: Define = (command, cli) => {
  command
    .description(
      'Ends a run with USER_ABORT wherever it is worked on, or takes one story out of a run that goes on. What landed before stays; when this returns, nothing of it lands any more.',
    )
    .argument('<runId>', 'a run, or the start of its id')
    .option('--story <id>', 'only this story')
    .option('--json', 'print what changed as JSON')
    .addHelpText('after', HELP)
    .action((runId: string, flags: Flags) => cancel(runId, flags, cli));
};

const HELP = `
Examples:
  halo cancel 0tbq
  halo cancel 0tbq --story US-002

Exit codes:
  0 cancelled    2 no such run or story    6 there is nothing to cancel

See also: halo pause, halo retry`;

async function cancel(runId: string, { story, json }: Flags, cli: Cli): Promise<void> {
  const steered = await cli.withOperations((operations) => operations.cancel(runId, story));
  await showSteered(steered, { word: 'cancelled', json: json === true, cli });
}
