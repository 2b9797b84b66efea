import { resolve } from 'node:path';
import type { Cli } from '../cli.ts';
import type { Define } from '../define.ts';

interface Flags {
  repo: string;
  force?: true;
}

export const define: Define = (command, cli) => {
  command
    .description(
      'Writes a commented halo.toml into the repository. Setup and gates are guessed from what is there (package.json, pyproject.toml, Cargo.toml, go.mod, Makefile and others): look at them before the first run.',
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

See also: halo config show, halo run`;

async function init(flags: Flags, cli: Cli): Promise<void> {
  const folder = resolve(cli.cwd, flags.repo);
  const { path, setup, gates } = await cli.services.initConfig({ folder, force: flags.force === true });
  await cli.print(`${cli.paint('good', 'wrote')}  ${path}`);
  const guessed = [...setup.map((each) => ['setup', each]), ...gates.map((each) => ['gate', each])];
  for (const [what = '', command = ''] of guessed) await cli.print(`${what.padEnd(5)}  ${command}`);
  const look = gates.length === 0 ? 'No gates could be guessed: name at least one in it' : 'Look at it';
  await cli.note('', `${look}, then: halo run prd.json`);
}
