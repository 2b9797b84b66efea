import { formatSize } from '../../lib/units.ts';
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
  command
    .command('push <engine> [image]')
    .summary('send an image of this machine to another engine')
    .description(
      'Sends the image halo-sandbox and the pinned versions of agents, or another image, to an engine of config.toml, unless it has the same ones. Compares afterwards.',
    )
    .addHelpText('after', PUSH_HELP)
    .action((engine: string, image: string | undefined) => push(engine, image, cli));
};

const HELP = `
Examples:
  halo image build
  halo image push build-2

See also: halo doctor`;

const PUSH_HELP = `
Examples:
  halo image push build-2
  halo image push build-2 shop-sandbox

The digest of what each image contains is written to stdout, progress to stderr.
With a registry, \`docker pull NAME@sha256:…\` on each engine does the same.

Exit codes:
  0 the engine has the images    5 an engine or the image is missing

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

/** Between two lines. */
const PROGRESS_MS = 2_000;

async function build(flags: Flags, cli: Cli): Promise<void> {
  const log = (line: string) => void cli.note(cli.paintErr('quiet', safeLine(line)));
  await cli.print(await cli.services.buildImage({ force: flags.force === true, server: flags.server === true, log }));
}

async function push(engine: string, image: string | undefined, cli: Cli): Promise<void> {
  for (const each of image === undefined ? await usualImages(cli) : [image]) await pushOne(engine, each, cli);
}

/** What stories need on an engine unless they have an image of their own. */
async function usualImages(cli: Cli): Promise<string[]> {
  const [{ readMachineConfig }, { chosenImages }, { processEnv }, { home }] = await Promise.all([
    import('../../config/host-rules.ts'),
    import('../../config/choice/chosen-versions.ts'),
    import('../../config/environment/host.ts'),
    cli.services.readHost(),
  ]);
  const { agentVersions } = await readMachineConfig({ home, env: processEnv() });
  return ['halo-sandbox', ...chosenImages(agentVersions)];
}

async function pushOne(engine: string, image: string, cli: Cli): Promise<void> {
  const note = (line: string) => cli.note(cli.paintErr('quiet', line));
  const progress = { saidAt: performance.now() };
  const onProgress = (sent: number, size: number) => {
    const now = performance.now();
    if (now - progress.saidAt < PROGRESS_MS) return;
    progress.saidAt = now;
    void note(`sent ${formatSize(sent)} of about ${formatSize(size)}`);
  };
  const { content, bytes } = await cli.services.pushImage({ engine, image, onProgress });
  const name = safeLine(image, 200);
  await note(
    bytes === 0 ? `${engine} already has this ${name}` : `${engine} has stored ${name} (${formatSize(bytes)} sent)`,
  );
  await cli.print(content);
}
