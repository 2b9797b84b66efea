import { safeLine } from '../../core/text/safe-text.ts';
import type { Cli, Define } from '../cli.ts';
import { requireNamedPrd } from '../options/read-prd.ts';
import { readPrdProgress } from './prd-progress.ts';

export const defineStatus: Define = (command, cli) => {
  command
    .summary('show the progress of a PRD')
    .description('Shows how many stories of a PRD are done, the active story, and the newest run.')
    .argument('[name]', 'the PRD (default: the only named PRD)')
    .option('--json', 'print the same as JSON')
    .addHelpText('after', HELP)
    .action((name: string | undefined, flags: { json?: true }) => showStatus(name, flags, cli));
};

const HELP = `
Examples:
  halo prd status
  halo prd status checkout --json | jq '.active[].id'

See also: halo prd list, halo status`;

async function showStatus(wanted: string | undefined, flags: { json?: true }, cli: Cli): Promise<void> {
  const named = await requireNamedPrd(cli.cwd, wanted);
  const progress = await cli.withOperations((operations) => readPrdProgress(named, operations, cli));
  if (flags.json) return cli.printJson(progress);
  const { name, path, project, done, total, active, next, run } = progress;
  const title = (story: { id: string; title: string }) => `${safeLine(story.id, 40)}  ${safeLine(story.title)}`;
  const percent = total === 0 ? '' : ` (${Math.floor((100 * done) / total)} %)`;
  await cli.print(
    `prd      ${name}  ${path}`,
    ...(project === '' ? [] : [`project  ${safeLine(project)}`]),
    `done     ${done} of ${total} stories${percent}`,
    ...(active.length === 0 ? ['active   none'] : active.map((story) => `active   ${title(story)}`)),
    ...(active.length > 0 || next === undefined ? [] : [`next     ${title(next)}`]),
    ...(run === undefined ? [] : [`run      ${run.runId}  ${run.state}`]),
  );
}
