import { join } from 'node:path';
import type { ListedRun } from '../../api/operations.ts';
import { toHaloError } from '../../core/failure/errors.ts';
import { isPrdName, NAME_RULE, PRD_FILE } from '../../core/prd/prd-names.ts';
import { safeLine } from '../../core/safe-text.ts';
import type { Cli } from '../cli.ts';
import type { Define } from '../define.ts';
import { listPrdFolders, type NamedPrd } from '../options/named-prds.ts';
import { widthOf } from '../output/run-table.ts';
import { table, type Cell } from '../output/table.ts';
import { standingOf, type PrdStanding } from './prd-progress.ts';

export const defineList: Define = (command, cli) => {
  command
    .summary('list the PRDs of this repository')
    .description('Lists the PRDs that have a name, with how far they are. One that cannot be read says so.')
    .helpOption('-h, --help', 'show help')
    .option('--json', 'print the same as JSON')
    .addHelpText('after', HELP)
    .action((flags: { json?: true }) => list(flags, cli));
};

const HELP = `
Examples:
  halo prd list
  halo prd list --json | jq -r '.[].name'

See also: halo prd new, halo prd status`;

type Listed = PrdStanding | (NamedPrd & { problem: string });

async function list(flags: { json?: true }, cli: Cli): Promise<void> {
  const prds = await listPrdFolders(cli.cwd);
  const runs = prds.length === 0 ? [] : await cli.withOperations((operations) => operations.list());
  const listed = await Promise.all(prds.map((prd) => look(prd, runs, cli)));
  if (flags.json) return cli.printJson(listed);
  if (listed.length === 0)
    return cli.note(`No PRDs yet. \`halo prd new <name>\` makes ${join('.halo', 'prds')}/<name>.`);
  const heading = ['NAME', 'DONE', 'ACTIVE', 'PROJECT'].map((text) => ({ text }));
  await cli.print(...table([heading, ...listed.map(rowOf)], { paint: cli.paint, width: widthOf(cli) }));
}

async function look(prd: NamedPrd, runs: readonly ListedRun[], cli: Cli): Promise<Listed> {
  if (!isPrdName(prd.name)) return { ...prd, problem: `no name for a PRD: ${NAME_RULE}` };
  return standingOf(prd, runs, cli).catch((error: unknown) => ({
    ...prd,
    problem: toHaloError(error).message.replaceAll(prd.path, PRD_FILE),
  }));
}

function rowOf(prd: Listed): Cell[] {
  const name: Cell = { text: safeLine(prd.name, 64), tone: 'strong' };
  if ('problem' in prd) return [name, { text: '?' }, { text: '-' }, { text: safeLine(prd.problem), tone: 'warn' }];
  return [
    name,
    { text: `${prd.done}/${prd.total}`, tone: prd.done === prd.total ? 'good' : 'plain' },
    { text: prd.active.length === 0 ? '-' : safeLine(prd.active.map(({ id }) => id).join(', '), 40) },
    { text: safeLine(prd.project) },
  ];
}
