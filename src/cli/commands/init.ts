import { resolve } from 'node:path';
import { safeLine, printableShellWord } from '../../core/text/safe-text.ts';
import type { Cli, Define } from '../cli.ts';

interface Flags {
  repo: string;
  force?: true;
}

export const define: Define = (command, cli) => {
  command
    .description(
      'Writes a commented halo.toml to the repository. Setup and gates are detected from its files (package.json, pyproject.toml, Cargo.toml, go.mod, Makefile and others) and compared with the workflows in .github/workflows. Try them with `halo check`.',
    )
    .option('--repo <path>', 'the repository', '.')
    .option('--force', 'overwrite an existing configuration')
    .addHelpText('after', HELP)
    .action((flags: Flags) => init(flags, cli));
};

const HELP = `
Examples:
  halo init
  halo init --repo ../shop

Exit codes:
  0 written    6 not a git repository, or a configuration already exists

See also: halo check, halo config show, halo run`;

async function init(flags: Flags, cli: Cli): Promise<void> {
  const folder = resolve(cli.cwd, flags.repo);
  const made = await cli.services.initConfig({ folder, force: flags.force === true });
  const { path, setup, gates, sources, registries, hosts, warnings, prd } = made;
  const reached = [...registries, ...hosts];
  const rows = [
    ...setup.map((command) => ['setup', command]),
    ...gates.map((command) => ['gate', `${command}${sourceText(sources[command])}`]),
    ...(reached.length === 0 ? [] : [['network', `${reached.join(', ')}  (setup may read from there, nothing else)`]]),
  ];
  await cli.print(`${cli.paint('good', 'wrote'.padEnd(7))}  ${path}`);
  for (const [what = '', text = ''] of rows) await cli.print(`${what.padEnd(7)}  ${safeLine(text)}`);
  if (gates.length === 0) warnings.unshift('No gates were detected. Add at least one to the file.');
  await cli.note(...warnings.map((warning) => `${cli.paintErr('warn', '!')} ${warning}`));
  const run =
    prd === undefined
      ? ['halo prd new', 'write a PRD']
      : [`halo run ${printableShellWord(prd)}`, 'run it and follow the progress'];
  const steps = [['halo check', 'run setup and gates in the sandbox'], run];
  const width = Math.max(...steps.map(([command = '']) => command.length));
  const next = steps.map(
    ([command = '', why = ''], index) => `${index === 0 ? 'next   ' : '       '}  ${command.padEnd(width)}  ${why}`,
  );
  await cli.note('', ...next);
}

/** ` (package.json, .github/workflows/test.yml)` */
function sourceText(sources: readonly string[] = []): string {
  const more = sources.length - MAX_SOURCES;
  const named = [...sources.slice(0, MAX_SOURCES), ...(more > 0 ? [`${more} more`] : [])];
  return named.length === 0 ? '' : ` (${named.join(', ')})`;
}

const MAX_SOURCES = 3;
