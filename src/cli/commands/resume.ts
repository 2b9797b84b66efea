import type { ResumeOptions } from '../../api/operations.ts';
import type { Cli } from '../cli.ts';
import type { Define } from '../define.ts';
import { addSettings, settingsFor, type SettingsFlags } from '../options/new-settings.ts';
import { RUN_ARGUMENT } from '../options/resolve-run.ts';
import { readPrd } from '../options/read-prd.ts';
import { showSteered } from '../output/print-control-result.ts';

interface Flags extends SettingsFlags {
  replan?: true | string;
  json?: true;
}

export const define: Define = (command, cli) => {
  const described = command
    .description(
      'Lets a paused run go on where it was. When the PRD file asks for something else by now, that is refused, unless --replan takes it as it is: what landed stays, what changed or is new is done, what is gone is left out.',
    )
    .argument(...RUN_ARGUMENT)
    .option('--replan [prd]', 'take the PRD as it is now, or another file, - for stdin');
  addSettings(described)
    .option('--json', 'print what changed as JSON')
    .addHelpText('after', HELP)
    .action((runId: string | undefined, flags: Flags) => resume(runId, flags, cli));
};

const HELP = `
Examples:
  halo resume 2dhe
  halo resume 2dhe --replan
  halo resume 2dhe --replan prd-v2.json
  halo resume 2dhe -c limits.wall=90m

Exit codes:
  0 it goes on    2 no such run    6 it has ended, or the PRD has changed

See also: halo pause, halo retry`;

async function resume(runId: string | undefined, { replan, json, ...settings }: Flags, cli: Cli): Promise<void> {
  const options = { ...(await readOptions(replan, cli)), ...(await settingsFor(settings, cli)) };
  const steered = await cli.withRun(runId, (operations, runId) => operations.resume(runId, options));
  await showSteered(steered, { word: 'resumed', json: json === true, cli });
}

async function readOptions(replan: Flags['replan'], cli: Cli): Promise<ResumeOptions> {
  if (replan === undefined) return {};
  return { replan: replan === true ? {} : { prd: await readPrd(replan, cli) } };
}
