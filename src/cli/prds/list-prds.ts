import { join } from 'node:path';
import type { Operations } from '../../api/operations.ts';
import { toHaloError } from '../../core/failure/errors.ts';
import { isPrdName, NAME_RULE, PRD_FILE } from '../../core/prd/prd-names.ts';
import { safeLine } from '../../core/text/safe-text.ts';
import type { Cli, Define } from '../cli.ts';
import { listPrdFolders, type NamedPrd } from '../options/read-prd.ts';
import { table, terminalColumns, type Cell } from '../output/table.ts';
import { readPrdProgress, type PrdFileProgress } from './prd-progress.ts';

export const defineList: Define = (command, cli) => {
  command
    .summary('list the PRDs of this repository')
    .description('Lists the named PRDs with their progress. Shows an error for a PRD that cannot be read.')
    .option('--json', 'print the same as JSON')
    .addHelpText('after', HELP)
    .action((flags: { json?: true }) => list(flags, cli));
};

const HELP = `
Examples:
  halo prd list
  halo prd list --json | jq -r '.[].name'

See also: halo prd new, halo prd status`;

type Listed = PrdFileProgress | (NamedPrd & { problem: string });

async function list(flags: { json?: true }, cli: Cli): Promise<void> {
  const prds = await listPrdFolders(cli.cwd);
  const listed = await cli.withOperations((operations) => Promise.all(prds.map((prd) => look(prd, operations, cli))));
  if (flags.json) return cli.printJson(listed);
  if (listed.length === 0)
    return cli.note(
      `No named PRDs yet: \`halo prd new <name>\` creates ${join('.halo', 'prds')}/<name>. Other PRD files need no name: \`halo run <file>\`.`,
    );
  const heading = ['NAME', 'DONE', 'ACTIVE', 'PROJECT'].map((text) => ({ text }));
  await cli.print(...table([heading, ...listed.map(rowOf)], { paint: cli.paint, width: terminalColumns(cli) }));
}

async function look(prd: NamedPrd, operations: Pick<Operations, 'listRuns'>, cli: Cli): Promise<Listed> {
  if (!isPrdName(prd.name)) return { ...prd, problem: `not a name of a PRD: ${NAME_RULE}` };
  return readPrdProgress(prd, operations, cli).catch((error: unknown) => ({
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
