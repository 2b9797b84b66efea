import type { Cli } from '../cli.ts';
import type { Define } from '../define.ts';
import { RUN_ARGUMENT } from '../resolve-run.ts';
import { noteReview } from '../review-run.ts';

export const define: Define = (command, cli) => {
  command
    .description(
      'Fast-forwards the branch that a run started from to what the run made, in your repository and its checkout. Never merges and never overwrites: when that is not possible it says why and changes nothing.',
    )
    .argument(...RUN_ARGUMENT)
    .option('--json', 'print branch, from and to as JSON')
    .addHelpText('after', HELP)
    .action((runId: string | undefined, flags: { json?: true }) => land(runId, flags, cli));
};

const HELP = `
Examples:
  halo diff 2dhe && halo land 2dhe

Exit codes:
  0 landed    2 no such run    6 refused, with the reason

See also: halo show, halo diff, halo status`;

async function land(runId: string | undefined, flags: { json?: true }, cli: Cli): Promise<void> {
  const landed = await cli.withRun(runId, async (operations, runId) => {
    if (!flags.json) await noteReview(operations, runId, { cli });
    return operations.land(runId);
  });
  if (flags.json) return cli.printJson(landed);
  if (landed.from === landed.to) return cli.print(`${landed.branch} is at ${landed.to.slice(0, 7)} already`);
  await cli.print(
    `${cli.paint('good', 'landed')}  ${landed.branch}  ${landed.from.slice(0, 7)}..${landed.to.slice(0, 7)}`,
  );
}
