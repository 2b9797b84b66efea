import { formatElapsed, msBetween } from '../../core/text/format-elapsed.ts';
import { safeLine } from '../../core/text/safe-text.ts';
import type { BreakerView } from '../../api/operations/schemas.ts';
import type { Cli, Define } from '../cli.ts';
import { noteIfNoWorker } from '../options/control-command.ts';
import { table, terminalColumns, type Cell } from '../output/table.ts';

export const define: Define = (command, cli) => {
  command
    .description(
      'Lists and resets circuit breakers. A breaker opens after repeated failures and stops further attempts.',
    )
    .addHelpText('after', HELP);
  command
    .command('list')
    .summary('list open breakers with their reasons')
    .description('Lists the open breakers of runs, repositories and providers, why each opened, and until when.')
    .option('--json', 'print the result as JSON')
    .addHelpText('after', LIST_HELP)
    .action((flags: { json?: true }) => list(flags, cli));
  command
    .command('reset')
    .summary('close a breaker')
    .description(
      'Closes a breaker and clears the failures that opened it. Runs that it blocked continue, and a run that it ended is reopened.',
    )
    .argument('<key>', 'the name of a repository, a key of `halo breaker list`, or a run')
    .option('--json', 'print the result as JSON')
    .addHelpText('after', RESET_HELP)
    .action((key: string, flags: { json?: true }) => reset(key, flags, cli));
};

const HELP = `
Examples:
  halo breaker list
  halo breaker reset provider:api.openai.com

See also: halo status, halo doctor`;

const LIST_HELP = `
Examples:
  halo breaker list
  halo breaker list --json | jq -r '.[].key'

See also: halo breaker reset, halo status`;

const RESET_HELP = `
Examples:
  halo breaker reset shop
  halo breaker reset provider:api.openai.com
  halo breaker reset 2dhe

Exit codes:
  0 closed    2 no such breaker is open

See also: halo breaker list`;

async function list({ json }: { json?: true }, cli: Cli): Promise<void> {
  const { breakers } = await cli.withOperations((operations) => operations.listBreakers());
  if (json) return cli.printJson(breakers);
  if (breakers.length === 0) return cli.note('No breaker is open.');
  const heading = ['BREAKER', 'STATE', 'UNTIL', 'WHY'].map((text) => ({ text }));
  const rows = breakers.map((breaker): Cell[] => [
    { text: safeLine(breaker.key), tone: 'strong' },
    { text: breaker.status, tone: 'warn' },
    { text: untilText(breaker) },
    { text: safeLine(breaker.reason) },
  ]);
  await cli.print(...table([heading, ...rows], { paint: cli.paint, width: terminalColumns(cli) }));
}

/** For a half-open breaker, `until` is the timeout of the trial attempt; that a trial is running is more useful. */
function untilText({ status, until }: BreakerView): string {
  if (status === 'half-open') return 'trial attempt running';
  return until === null ? '-' : `in ${formatElapsed(msBetween(new Date().toISOString(), until))}`;
}

async function reset(key: string, { json }: { json?: true }, cli: Cli): Promise<void> {
  const { key: closed } = await cli.withOperations((operations) => operations.resetBreaker({ key }));
  if (json) return cli.printJson({ key: closed });
  await cli.print(`${cli.paint('good', 'closed')}  ${safeLine(closed)}`);
  if (!closed.startsWith('run:')) return;
  await noteIfNoWorker(
    await cli.withOperations((operations) => operations.getRun({ runId: closed.slice('run:'.length) })),
    cli,
  );
}
