import type { Operations } from '../../api/operations.ts';
import { HaloError } from '../../core/failure/errors.ts';
import { exitCodeOf, type StopReason } from '../../core/failure/stop-reason.ts';
import { nextSteps, toCommands } from '../../core/run/next-steps.ts';
import { safeLine } from '../../core/text/safe-text.ts';
import type { Cli, Define } from '../cli.ts';
import { readPrd, resolveUsualPrd } from '../options/read-prd.ts';
import { addSettingOptions, repoSource, settingsOf, type SettingFlags } from '../options/run-options.ts';
import { runHere } from '../run/local-run.ts';

interface Flags extends SettingFlags {
  repo: string;
}

export const define: Define = (command, cli) => {
  command
    .description('Commands for plugins of agents. Each prints one JSON document on stdout.')
    .argument('[action]', 'run')
    .addHelpText('after', HELP)
    .action((action: string | undefined) => {
      const what = action === undefined ? 'The action is missing' : `There is no action "${safeLine(action, 40)}"`;
      throw new HaloError('USAGE', `${what}.`, { hint: 'Use `halo plugin run [prd]`.' });
    });
  addSettingOptions(
    command
      .command('run')
      .summary('run a PRD and print its result as one JSON document')
      .description(
        'Runs a PRD as `halo run` does, without progress, and prints one JSON document on stdout: `ok`, `message`, the run, its stop reason, the passed stories and what a person can do next; or `ok: false` with the error.',
      )
      .argument('[prd]', 'the PRD file, folder of tasks or name, or - for stdin (default: as for halo run)')
      .option('--repo <path>', 'the repository', '.'),
  )
    .addHelpText('after', RUN_HELP)
    .action((prd: string | undefined, flags: Flags) => run(prd, flags, cli));
};

const HELP = `
Examples:
  halo plugin run checkout

See also: halo mcp, halo run`;

const RUN_HELP = `
Examples:
  halo plugin run
  halo plugin run checkout | jq .stopReason

Exit codes:
  those of halo run

See also: halo mcp, halo run`;

/** What one call did. main.ts prints errors as `{"ok":false,"error":…}`. */
interface PluginResult {
  ok: boolean;
  action: 'run';
  message: string;
  runId: string;
  stopReason: StopReason;
  exitStatus: number;
  landed: { story: string; commit: string }[];
  next: { command: string; why: string }[];
  dir: string;
}

async function run(given: string | undefined, flags: Flags, cli: Cli): Promise<void> {
  const repo = repoSource(cli.cwd, flags.repo);
  const prd = await readPrd(given ?? (await resolveUsualPrd(repo, cli)), cli);
  const { profile } = flags;
  const result = await runHere(
    { prd, repos: [repo], profile, set: settingsOf(flags), allowDirty: false },
    {
      cli: withoutOutput(cli),
      json: true,
      asks: false,
      finish: ({ operations, runId, end }) => describeRun(operations, runId, end ?? 'USER_ABORT'),
    },
  );
  await cli.printJson(result);
  cli.exitCode = result.exitStatus;
}

/** Events of the run are not printed: stdout holds one document. */
function withoutOutput(cli: Cli): Cli {
  const nothing = () => Promise.resolve();
  return { ...cli, print: nothing, printJson: nothing, write: nothing };
}

async function describeRun(operations: Operations, runId: string, end: StopReason): Promise<PluginResult> {
  const { state, dir } = await operations.getRun({ runId });
  const landed = state.stories.flatMap(({ id, progress, commit }) =>
    progress === 'passed' && commit !== undefined ? [{ story: id, commit }] : [],
  );
  const message = `${end}: ${state.detail ?? `${landed.length} of ${state.stories.length} stories passed`}`;
  const result = { message, runId, stopReason: end, exitStatus: exitCodeOf(end), landed };
  return { ok: end === 'SUCCESS', action: 'run', ...result, next: toCommands(nextSteps(state)), dir };
}
