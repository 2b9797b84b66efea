import { safeLine } from '../../core/safe-text.ts';
import type { Cli } from '../cli.ts';
import type { Define } from '../program.ts';

export const define: Define = (command, cli) => {
  command
    .description('The image that stories run in: a small Debian with git, Node and the agents.')
    .addHelpText('after', HELP);
  command
    .command('build')
    .summary('build the sandbox image')
    .description('Builds the image halo-sandbox of this version, unless it is there already. Needs no image registry.')
    .helpOption('-h, --help', 'show help')
    .option('--force', 'build even when it is current')
    .addHelpText('after', BUILD_HELP)
    .action((flags: { force?: true }) => build(flags.force === true, cli));
};

const HELP = `
Examples:
  halo image build

See also: halo doctor`;

const BUILD_HELP = `
Examples:
  halo image build
  halo image build --force

The image's id is written to stdout, progress to stderr.

Exit codes:
  0 built or current    5 Docker or something that the build needs is missing

See also: halo doctor`;

async function build(force: boolean, cli: Cli): Promise<void> {
  const log = (line: string) => void cli.note(cli.paintErr('quiet', safeLine(line)));
  await cli.print(await cli.services.buildImage({ force, log }));
}
