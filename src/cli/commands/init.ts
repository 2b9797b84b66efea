import { resolve } from 'node:path';
import { safeLine, printableShellWord } from '../../core/text/safe-text.ts';
import type { InitChoices } from '../../api/repository/apply-imports.ts';
import type { Initialised, InitProposal } from '../../api/repository/init-config.ts';
import { HaloError } from '../../core/failure/errors.ts';
import type { Cli, Define } from '../cli.ts';
import { askInitChoices } from '../options/init-choices.ts';

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
      'Writes a commented halo.toml to the repository. Setup and gates are detected from its files (package.json, pyproject.toml, Cargo.toml, go.mod, Makefile and others) and compared with the workflows in .github/workflows. At a terminal, asks for agent, setup and gates first; Enter keeps what was detected. Settings, specifications and tasks of hank (.hankrc, .hank, .ralph) are imported, and a project of swanson (.swanson, prds) is configured as swanson works. Try the result with `halo check`.',
    )
    .option('--repo <path>', 'the repository', '.')
    .option('--force', 'overwrite an existing configuration')
    .option('--from <file>', 'import the tasks of this file as the PRD main')
    .option('--no-import', 'import nothing from other tools')
    .option('-y, --yes', 'ask nothing, and use what was detected')
    .option('-q, --quiet', 'ask nothing, and print only errors')
    .option('--json', 'ask nothing, and print what was written as JSON')
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
    ...made.imported.map((line) => ['import', line]),
  ];
  await cli.print(`${cli.paint('good', 'wrote'.padEnd(7))}  ${path}`);
  for (const [what = '', text = ''] of rows) await cli.print(`${what.padEnd(7)}  ${safeLine(text)}`);
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
