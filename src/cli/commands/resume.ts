import type { ResumeOptions } from '../../api/operations/requests.ts';
import type { Cli, Define } from '../cli.ts';
import { addSettings, settingsFor, type SettingsFlags } from '../options/new-settings.ts';
import { RUN_ARGUMENT } from '../options/resolve-run.ts';
import { readPrd } from '../options/read-prd.ts';
import { printControlResult } from '../output/print-control-result.ts';

interface Flags extends SettingsFlags {
  replan?: true | string;
  json?: true;
}

export const define: Define = (command, cli) => {
  const described = command
    .description(
      'Resumes a paused run. If the PRD file has changed since, --replan is required: landed stories stay, changed and new stories are implemented, and removed stories are dropped.',
    )
    .argument(...RUN_ARGUMENT)
    .option('--replan [prd]', 'use the current PRD file, or another one (- for stdin)');
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
  0 resumed    2 no such run    6 the run has ended, or the PRD has changed

See also: halo pause, halo retry`;

async function resume(runId: string | undefined, { replan, json, ...settings }: Flags, cli: Cli): Promise<void> {
  const options = { ...(await readOptions(replan, cli)), ...(await settingsFor(settings, cli)) };
  const result = await cli.withRun(runId, (operations, runId) => operations.resume(runId, options));
  await printControlResult(result, { word: 'resumed', json: json === true, cli });
}

async function readOptions(replan: Flags['replan'], cli: Cli): Promise<ResumeOptions> {
  if (replan === undefined) return {};
  return { replan: replan === true ? {} : { prd: await readPrd(replan, cli) } };
}
