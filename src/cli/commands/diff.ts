import type { Cli } from '../cli.ts';
import type { Define } from '../define.ts';
import { RUN_ARGUMENT } from '../resolve-run.ts';
import { coloredDiff } from '../diff-text.ts';

export const define: Define = (command, cli) => {
  command
    .description('Shows what a run changed, as a unified diff from the commit that it started on.')
    .argument(...RUN_ARGUMENT)
    .option('--story <id>', 'only what this story changed')
    .addHelpText('after', HELP)
    .action((runId: string | undefined, flags: { story?: string }) => diff(runId, flags.story, cli));
};

const HELP = `
Examples:
  halo diff 2dhe
  halo diff 2dhe --story US-002
  halo diff 2dhe | git apply --stat

See also: halo land, halo status`;

async function diff(runId: string | undefined, story: string | undefined, cli: Cli): Promise<void> {
  const text = await cli.withRun(runId, (operations, runId) => operations.diff(runId, story));
  if (text === '') return cli.note('nothing was changed');
  await cli.write(cli.terminal.shown ? coloredDiff(text, cli.paint) : text);
}
