import { resolve } from 'node:path';
import type { InitChoices } from '../../api/repository/apply-imports.ts';
import type { Initialised, InitProposal } from '../../api/repository/init-config.ts';
import { AGENT_IDS } from '../../core/agent.ts';
import { HaloError } from '../../core/failure/errors.ts';
import { printableShellWord, safeLine } from '../../core/text/safe-text.ts';
import { closeSentence } from '../../core/text/did-you-mean.ts';
import type { Cli, Define } from '../cli.ts';
import { stoppable } from '../run/run-until-signal.ts';

interface Flags {
  repo: string;
  force?: true;
  from?: string;
  import: boolean;
  yes?: true;
  quiet?: true;
  json?: true;
}

export const define: Define = (command, cli) => {
  command
    .description(
      'Writes a commented halo.toml to the repository. Setup and gates are detected from its files (package.json, pyproject.toml, Cargo.toml, go.mod, Makefile and others) and compared with the workflows in .github/workflows, services such as databases from workflows, GitLab CI, a compose file and dependencies. At a terminal, asks first; Enter keeps what was detected. Settings, specifications and tasks of hank (.hankrc, .hank, .ralph) are imported, and a project of swanson (.swanson, prds) is configured as swanson works. Try the result with `halo check`.',
    )
    .option('--repo <path>', 'the repository', '.')
    .option('--force', 'overwrite an existing configuration')
    .option('--from <file>', 'import the tasks of this file, a PRD of any dialect, as the named PRD main')
    .option('--no-import', 'import nothing from other tools')
    .option('-y, --yes', 'ask nothing, and use what was detected')
    .option('-q, --quiet', 'ask nothing, and print only errors')
    .option(
      '--json',
      'ask nothing, and print as JSON: success, project_name, project_type, files_created, tasks_imported, agent, setup, gates, registries, hosts, services, imported, warnings, prd, queue',
    )
    .addHelpText('after', HELP)
    .action((flags: Flags) => init(flags, cli));
};

const HELP = `
Examples:
  halo init
  halo init --repo ../shop --yes
  halo init --from docs/tasks.md

Exit codes:
  0 written    2 a configuration already exists    6 not a git repository, or the tasks cannot be read

See also: halo new, halo check, halo config show, halo run`;

async function init(flags: Flags, cli: Cli): Promise<void> {
  const { force = false, from, yes, quiet, json } = flags;
  if (from !== undefined && !flags.import)
    throw new HaloError('USAGE', '--from cannot be combined with --no-import.', { hint: 'Remove one of them.' });
  const asks = cli.ask !== undefined && !yes && !quiet && !json;
  const choose = async (proposal: InitProposal): Promise<InitChoices> => {
    const offered = flags.import ? proposal : { ...proposal, importConfig: false, importTasks: false };
    return asks ? askInitChoices(offered, cli) : offered;
  };
  const made = await cli.services.initConfig({
    folder: resolve(cli.cwd, flags.repo),
    force,
    ...(from !== undefined && { from: resolve(cli.cwd, from) }),
    choose,
  });
  if (json) return cli.printJson(toJson(made));
  if (quiet) return;
  const { path, setup, gates, sources, registries, hosts, warnings, prd, queue } = made;
  const reached = [...registries, ...hosts];
  const rows = [
    ['agent', made.agent],
    ...setup.map((command) => ['setup', command]),
    ...gates.map((command) => ['gate', `${command}${sourceText(sources[command])}`]),
    ...(reached.length === 0 ? [] : [['network', `${reached.join(', ')}  (only setup may read from there)`]]),
    ...made.found.map(({ what, why, isHint }) => [
      'service',
      `${what} (${why})${isHint === true ? ', as a comment' : ''}`,
    ]),
    ...made.imported.map((line) => ['import', line]),
  ];
  await cli.print(`${cli.paint('good', 'wrote'.padEnd(7))}  ${path}`);
  for (const [what = '', text = ''] of rows) await cli.print(`${what.padEnd(7)}  ${safeLine(text, MAX_ROW)}`);
  if (gates.length === 0) warnings.unshift('No gates were detected. Add at least one to the file.');
  await cli.note(...warnings.map((warning) => `${cli.paintErr('warn', '!')} ${warning}`));
  const run =
    queue !== undefined
      ? [`halo queue ${printableShellWord(queue)}`, 'run its PRDs one after the other']
      : prd === undefined
        ? ['halo prd new', 'write a PRD']
        : [`halo run ${printableShellWord(prd)}`, 'run it and follow the progress'];
  const steps = [['halo check', 'run setup and gates in the sandbox'], run];
  const width = Math.max(...steps.map(([command = '']) => command.length));
  const next = steps.map(
    ([command = '', why = ''], index) => `${index === 0 ? 'next   ' : '       '}  ${command.padEnd(width)}  ${why}`,
  );
  await cli.note('', ...next);
}

/** A row names all settings of a file, each once. */
const MAX_ROW = 10_000;

/** The first five names are those that `hank enable-ci --json` prints. */
function toJson(made: Initialised): unknown {
  return {
    success: true,
    project_name: made.project,
    project_type: made.language ?? 'unknown',
    files_created: made.files,
    tasks_imported: made.tasks,
    agent: made.agent,
    setup: made.setup,
    gates: made.gates,
    registries: made.registries,
    hosts: made.hosts,
    services: made.found.filter(({ isHint }) => isHint !== true).map(({ what }) => what),
    imported: made.imported,
    warnings: made.warnings,
    prd: made.prd ?? null,
    queue: made.queue ?? null,
  };
}

/** ` (package.json, .github/workflows/test.yml)` */
function sourceText(sources: readonly string[] = []): string {
  const more = sources.length - MAX_SOURCES;
  const named = [...sources.slice(0, MAX_SOURCES), ...(more > 0 ? [`${more} more`] : [])];
  return named.length === 0 ? '' : ` (${named.join(', ')})`;
}

const MAX_SOURCES = 3;

/** Lets the user at the terminal change the proposal. Throws RUN_ABORTED on Ctrl-C or end of input. */
async function askInitChoices(proposal: InitProposal, cli: Cli): Promise<InitChoices> {
  const { imports } = proposal;
  await cli.note('Enter keeps the value in brackets. Nothing is written before the last answer.', '');
  const agent = await askAgent(proposal.agent, cli);
  const setup = await askCommands('Setup, which installs dependencies', proposal.setup, cli);
  const gates = await askCommands('Gates, which must pass before a story lands', proposal.gates, cli);
  const used = proposal.found.filter(({ isHint }) => isHint !== true);
  for (const { what, why } of used) await cli.note(`Service ${safeLine(what, 200)} (${safeLine(why, 200)})`);
  const useFound = used.length === 0 || (await askYes('Use these services?', cli));
  const { config, prompt, specs, tasks, swanson } = imports;
  const ofSwanson = swanson === undefined ? undefined : 'swanson';
  const sources = [config?.path, prompt, ...specs, ofSwanson].flatMap((path) => path ?? []);
  const importConfig =
    proposal.importConfig &&
    (sources.length === 0 || (await askYes(`Import the settings of ${sources.join(', ')}?`, cli)));
  const importTasks =
    proposal.importTasks &&
    (tasks === undefined || (await askYes(`Import ${tasks.open} open tasks of ${tasks.path} as the PRD main?`, cli)));
  return { agent, setup, gates, useFound, importConfig, importTasks };
}

async function askAgent(preset: string, cli: Cli): Promise<string> {
  for (;;) {
    const answer = await askText(`Agent: ${AGENT_IDS.join(', ')} [${preset}]: `, cli);
    if (answer === '') return preset;
    const name = answer.toLowerCase();
    if (AGENT_IDS.some((id) => id === name)) return name;
    await cli.note(`There is no agent ${safeLine(answer, 40)}${closeSentence(name, AGENT_IDS)}`);
  }
}

/** Enter keeps the commands, `-` removes them; other answers are the new commands, one at a time, until Enter. */
async function askCommands(what: string, preset: readonly string[], cli: Cli): Promise<string[]> {
  const shown = preset.length === 0 ? 'none' : preset.map((command) => safeLine(command, 200)).join('; ');
  await cli.note(`${what}. Type one command to replace these, or - for none.`);
  const commands: string[] = [];
  for (;;) {
    const question = commands.length === 0 ? `  [${shown}]: ` : '  one more [no]: ';
    const answer = await askText(question, cli);
    if (answer === '') return commands.length === 0 ? [...preset] : commands;
    if (answer === '-') return [];
    if (/[\p{Cc}\p{Cf}]/u.test(answer)) await cli.note('A command has no control characters. Type it again.');
    else commands.push(answer);
  }
}

async function askYes(question: string, cli: Cli): Promise<boolean> {
  for (;;) {
    const answer = (await askText(`${safeLine(question, 300)} [yes]: `, cli)).toLowerCase();
    if (['', 'y', 'yes'].includes(answer)) return true;
    if (['n', 'no'].includes(answer)) return false;
    await cli.note('Answer yes or no.');
  }
}

async function askText(question: string, cli: Cli): Promise<string> {
  const answer = await stoppable(cli, async (signal) => cli.ask?.(question, signal)).catch(() => undefined);
  if (answer !== undefined) return answer.trim();
  throw new HaloError('RUN_ABORTED', 'Nothing was written.', {
    hint: 'Run `halo init --yes` to use what is detected.',
  });
}
