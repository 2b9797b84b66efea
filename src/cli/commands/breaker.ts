import { formatDuration, msBetween } from '../../core/text/format-elapsed.ts';
import { safeLine } from '../../core/safe-text.ts';
import type { BreakerView } from '../../api/operations.ts';
import type { Cli } from '../cli.ts';
import type { Define } from '../define.ts';
import { widthOf } from '../output/run-table.ts';
import { table, type Cell } from '../output/table.ts';

export const define: Define = (command, cli) => {
  command
    .description('Shows and closes the breakers that keep halo from trying what fails again and again.')
    .addHelpText('after', HELP);
  command
    .command('list')
    .summary('show every breaker that is open, and why')
    .description('Shows every open breaker of a run, a repository or a provider, why it opened, and until when.')
    .helpOption('-h, --help', 'show help')
    .option('--json', 'print the same as JSON')
    .addHelpText('after', LIST_HELP)
    .action((flags: { json?: true }) => list(flags, cli));
  command
    .command('reset')
    .summary('close a breaker, so that what it stopped goes on')
    .description(
      'Closes a breaker and forgets what opened it: runs that it held back go on, and a run that it ended, too.',
    )
    .helpOption('-h, --help', 'show help')
    .argument('<key>', 'the name of a repository, a key of `halo breaker list`, or a run')
    .option('--json', 'print the key as JSON')
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
  const breakers = await cli.withOperations((operations) => operations.breakers());
  if (json) return cli.printJson(breakers);
  if (breakers.length === 0) return cli.note('no breaker is open');
  const heading = ['BREAKER', 'STATE', 'UNTIL', 'WHY'].map((text) => ({ text }));
  const rows = breakers.map((breaker): Cell[] => [
    { text: safeLine(breaker.key), tone: 'strong' },
    { text: breaker.status, tone: 'warn' },
    { text: untilText(breaker) },
    { text: safeLine(breaker.reason) },
  ]);
  await cli.print(...table([heading, ...rows], { paint: cli.paint, width: widthOf(cli) }));
}

/** Half-open, `until` is how long a trial is waited for: who reads this wants to know that one goes on. */
function untilText({ status, until }: BreakerView): string {
  if (status === 'half-open') return 'one tries';
  return until === null ? '-' : `in ${formatDuration(msBetween(new Date().toISOString(), until))}`;
}

async function reset(key: string, { json }: { json?: true }, cli: Cli): Promise<void> {
  const closed = await cli.withOperations((operations) => operations.resetBreaker(key));
  if (json) return cli.printJson({ key: closed });
  await cli.print(`${cli.paint('good', 'closed')}  ${safeLine(closed)}`);
}
