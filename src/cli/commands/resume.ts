import type { InputOf, Operations } from '../../api/operations.ts';
import type { ListedRun } from '../../api/runs/limited-runs.ts';
import { defined } from '../../lib/guards.ts';
import { addAllOptions, assertAll, controlAll, printControlResult, type AllFlags } from '../options/control-command.ts';
import type { Cli, Define } from '../cli.ts';
import { addSettings, settingsFor, type SettingsFlags } from '../options/run-options.ts';
import { RUN_ARGUMENT } from '../options/resolve-run.ts';
import { readPrd } from '../options/read-prd.ts';

interface Flags extends SettingsFlags, AllFlags {
  replan?: true | string;
}

export const define: Define = (command, cli) => {
  const described = command
    .description(
      'Resumes a paused run. If the PRD file has changed since, --replan is required: passed stories stay, changed and new stories are implemented, and removed stories are dropped. With --replan, a run that has ended continues as well. With --all, resumes all of your paused runs, after a confirmation.',
    )
    .argument(...RUN_ARGUMENT)
    .option('--replan [prd]', 'use the current PRD file, or another one (- for stdin)');
  addSettings(
    addAllOptions(described, 'paused runs'),
    'change gates or image, or resume with --all, without being asked',
  )
    .option(
      '--json',
      'print as JSON: {runId, changed, stories, says}; with --all a list, in which a refused run has error',
    )
    .addHelpText('after', HELP)
    .action((runId: string | undefined, flags: Flags) => resume(runId, flags, cli));
};

const HELP = `
Examples:
  halo resume 2dhe
  halo resume 2dhe --replan
  halo resume 2dhe --replan prd-v2.json
  halo resume 2dhe -c limits.wall=90m
  halo resume --all

Exit codes:
  0 resumed    2 no such run    6 the run has ended, or the PRD has changed (without --replan)

See also: halo pause, halo retry`;

async function resume(runId: string | undefined, flags: Flags, cli: Cli): Promise<void> {
  const { replan, config, yes, json = false, ...selection } = flags;
  // For one run, --yes is about changed gates.
  assertAll(
    { ...selection, ...(flags.all && defined({ yes })) },
    { 'a run': runId, '--replan': replan, '--config': config },
  );
  if (flags.all) {
    const control = (operations: Operations, id: string) => operations.resume({ runId: id });
    const affects = ({ paused }: ListedRun) => paused !== undefined;
    return controlAll(flags, { verb: 'resume', word: 'resumed', affects, control }, cli);
  }
  const options = { ...(await readOptions(replan, cli)), ...(await settingsFor(defined({ config, yes }), cli)) };
  const result = await cli.withRun(runId, (operations, id) => operations.resume({ runId: id, ...options }));
  await printControlResult(result, { word: 'resumed', json, cli });
}

async function readOptions(replan: Flags['replan'], cli: Cli): Promise<Pick<InputOf<'resume'>, 'replan'>> {
  if (replan === undefined) return {};
  return { replan: replan === true ? {} : { prd: await readPrd(replan, cli) } };
}
