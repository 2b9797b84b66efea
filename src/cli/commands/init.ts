import { resolve } from 'node:path';
import { safeLine } from '../../core/safe-text.ts';
import { shellWord } from '../../core/shell-word.ts';
import type { Cli } from '../cli.ts';
import type { Define } from '../define.ts';

interface Flags {
  repo: string;
  force?: true;
}

export const define: Define = (command, cli) => {
  command
    .description(
      'Writes a commented halo.toml into the repository. Setup and gates are guessed from what is there (package.json, pyproject.toml, Cargo.toml, go.mod, Makefile and others): try them with `halo check`.',
    )
    .option('--repo <path>', 'the repository', '.')
    .option('--force', 'write over the configuration that is there')
    .addHelpText('after', HELP)
    .action((flags: Flags) => init(flags, cli));
};

const HELP = `
Examples:
  halo init
  halo init --repo ../shop

Exit codes:
  0 written    6 no git repository, or there is a configuration already

See also: halo check, halo config show, halo run`;

async function init(flags: Flags, cli: Cli): Promise<void> {
  const folder = resolve(cli.cwd, flags.repo);
  const made = await cli.services.initConfig({ folder, force: flags.force === true });
  const { path, setup, gates, registries, hosts, warnings, prd } = made;
  const reached = [...registries, ...hosts];
  const rows = [
    ...setup.map((command) => ['setup', command]),
    ...gates.map((command) => ['gate', command]),
    ...(reached.length === 0 ? [] : [['network', `${reached.join(', ')}  (setup may read from there, nothing else)`]]),
  ];
  await cli.print(`${cli.paint('good', 'wrote'.padEnd(7))}  ${path}`);
  for (const [what = '', text = ''] of rows) await cli.print(`${what.padEnd(7)}  ${safeLine(text)}`);
  if (gates.length === 0) warnings.unshift('No gates could be guessed: name at least one in it.');
  await cli.note(...warnings.map((warning) => `${cli.paintErr('warn', '!')} ${warning}`));
  const run = prd === undefined ? ['halo prd new', 'write a PRD'] : [`halo run ${shellWord(prd)}`, 'do it, and watch'];
  const steps = [['halo check', 'run setup and gates in the sandbox'], run];
  const width = Math.max(...steps.map(([command = '']) => command.length));
  const next = steps.map(
    ([command = '', why = ''], index) => `${index === 0 ? 'next   ' : '       '}  ${command.padEnd(width)}  ${why}`,
  );
  await cli.note('', ...next);
}
