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
      'Lets a run that ended go on: what failed, was cancelled or asked for a person is done anew with fresh attempts, what landed stays. Or only one such story, also of a run that is going on.',
    )
    .argument('<runId>', 'a run, or the start of its id')
    .option('--story <id>', 'only this story')
    .option('--json', 'print what changed as JSON')
    .addHelpText('after', HELP)
    .action((runId: string, flags: Flags) => retry(runId, flags, cli));
};

const HELP = `
Examples:
  halo retry 0tbq
  halo retry 0tbq --story US-002

Exit codes:
  0 it goes on    2 no such run or story    6 there is nothing to retry

See also: halo status, halo logs, halo resume`;

async function retry(runId: string, { story, json }: Flags, cli: Cli): Promise<void> {
  const steered = await cli.withOperations((operations) => operations.retry(runId, story));
  await showSteered(steered, { word: 'retried', json: json === true, cli });
}
