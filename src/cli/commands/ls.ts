import type { Cli } from '../cli.ts';
import type { Define } from '../define.ts';
import { noteMissingWorker } from '../note-missing-worker.ts';
import { NO_RUNS, runTable } from '../run-table.ts';

export const define: Define = (command, cli) => {
  command
    .description('Lists all runs, newest first.')
    .option('--json', 'print the states of the runs as JSON')
    .addHelpText('after', HELP)
    .action((flags: { json?: true }) => list(flags, cli));
};

const HELP = `
Examples:
  halo ls
  halo ls --json | jq -r '.[] | select(.stopReason == "NEEDS_HUMAN") | .runId'

See also: halo status, halo logs`;

async function list(flags: { json?: true }, cli: Cli): Promise<void> {
  const runs = await cli.withOperations((operations) => operations.list());
  if (flags.json) return cli.printJson(runs);
  if (runs.length === 0) return cli.note(NO_RUNS);
  await cli.print(...runTable(runs, cli));
  await noteMissingWorker(runs, cli);
}
