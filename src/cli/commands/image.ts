import { safeLine } from '../../core/text/safe-text.ts';
import type { Cli, Define } from '../cli.ts';

interface Flags {
  force?: true;
  server?: true;
}

export const define: Define = (command, cli) => {
  command
    .description('Manages the sandbox image: a small Debian with git, Node and the agents.')
    .addHelpText('after', HELP);
  command
    .command('build')
    .summary('build the sandbox image')
    .description('Builds the image halo-sandbox of this version, unless it already exists. Needs no image registry.')
    .option('--force', 'build even if the image is current')
    .option('--server', 'build halo-server instead, the image of the services in compose.yaml')
    .addHelpText('after', BUILD_HELP)
    .action((flags: Flags) => build(flags, cli));
};

const HELP = `
Examples:
  halo image build

See also: halo doctor`;

const BUILD_HELP = `
Examples:
  halo image build
  halo image build --force
  halo image build --server

The image's id is written to stdout, progress to stderr.

Exit codes:
  0 built or current    5 Docker or something that the build needs is missing

See also: halo doctor`;

async function build(flags: Flags, cli: Cli): Promise<void> {
  const log = (line: string) => void cli.note(cli.paintErr('quiet', safeLine(line)));
  await cli.print(await cli.services.buildImage({ force: flags.force === true, server: flags.server === true, log }));
}
