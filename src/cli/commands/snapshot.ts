import { formatElapsed, msBetween } from '../../core/text/format-elapsed.ts';
import { safeLine } from '../../core/text/safe-text.ts';
import { HaloError } from '../../core/failure/errors.ts';
import { formatSize } from '../../lib/units.ts';
import type { Cli, Define } from '../cli.ts';
import { terminalColumns } from '../output/run-table.ts';
import { table, type Cell } from '../output/table.ts';

export const define: Define = (command, cli) => {
  command
    .description('Lists and removes snapshots: what setup installed, kept so that the next story starts with it.')
    .addHelpText('after', HELP);
  command
    .command('ls')
    .summary('list snapshots')
    .description('Lists the snapshots of all repositories, the last used first, with their sizes.')
    .helpOption('-h, --help', 'show help')
    .option('--json', 'print the same as JSON')
    .addHelpText('after', LIST_HELP)
    .action((flags: { json?: true }) => list(flags, cli));
  command
    .command('rm')
    .summary('remove snapshots')
    .description('Removes snapshots and their volumes. Setup runs again for the next story. Those in use stay.')
    .helpOption('-h, --help', 'show help')
    .argument('[keys...]', 'beginnings of keys of `halo snapshot ls`')
    .option('--all', 'remove all snapshots')
    .option('--json', 'print the removed keys as JSON')
    .addHelpText('after', REMOVE_HELP)
    .action((keys: string[], flags: { all?: true; json?: true }) => remove(keys, flags, cli));
};

const HELP = `
Examples:
  halo snapshot ls
  halo snapshot rm --all

See also: halo doctor, halo config`;

const LIST_HELP = `
Examples:
  halo snapshot ls
  halo snapshot ls --json | jq 'map(.bytes) | add'

See also: halo snapshot rm`;

const REMOVE_HELP = `
Examples:
  halo snapshot rm 042fe174
  halo snapshot rm --all

Exit codes:
  0 removed    2 no such snapshot

See also: halo snapshot ls`;

const KEY_LENGTH = 12;

async function list({ json }: { json?: true }, cli: Cli): Promise<void> {
  const snapshots = await cli.withOperations((operations) => operations.snapshots());
  if (json) return cli.printJson(snapshots);
  if (snapshots.length === 0) return cli.note('There are no snapshots.');
  const heading = ['KEY', 'REPOSITORY', 'SIZE', 'FILES', 'USED', 'SETUP'].map((text) => ({ text }));
  const now = new Date().toISOString();
  const rows = snapshots.map(({ key, repo, state, bytes, files, usedAt, setup, reason }): Cell[] => [
    { text: key.slice(0, KEY_LENGTH), tone: 'strong' },
    { text: safeLine(repo) },
    { text: state === 'ready' ? formatSize(bytes) : '-' },
    { text: state === 'ready' ? String(files) : '-' },
    { text: `${formatElapsed(msBetween(usedAt, now))} ago` },
    { text: safeLine(reason === null ? setup.join(' && ') : `none: ${reason}`) },
  ]);
  await cli.print(...table([heading, ...rows], { paint: cli.paint, width: terminalColumns(cli) }));
}

async function remove(keys: string[], { all, json }: { all?: true; json?: true }, cli: Cli): Promise<void> {
  if ((keys.length === 0) === (all === undefined)) {
    throw new HaloError('USAGE', 'halo snapshot rm needs keys, or --all.', {
      hint: 'Run `halo snapshot ls` for the keys.',
    });
  }
  const done = await cli.withOperations((operations) => operations.removeSnapshots(keys));
  if (json) return cli.printJson(done);
  for (const key of done.removed) await cli.print(`${cli.paint('good', 'removed')}  ${key.slice(0, KEY_LENGTH)}`);
  for (const key of done.inUse) await cli.print(`${cli.paint('warn', 'in use')}   ${key.slice(0, KEY_LENGTH)}`);
  if (done.removed.length + done.inUse.length === 0) await cli.note('There are no snapshots.');
}
