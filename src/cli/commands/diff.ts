import type { Cli } from '../cli.ts';
import type { Define } from '../define.ts';
import { coloredDiff } from '../diff-text.ts';

export const define: Define = (command, cli) => {
  command
    .description('Shows what a run changed, as a unified diff from the commit that it started on.')
    .argument('<runId>', 'a run, or the start of its id')
    .option('--story <id>', 'only what this story changed')
    .addHelpText('after', HELP)
    .action((runId: string, flags: { story?: string }) => diff(runId, flags.story, cli));
};

const HELP = `
Examples:
  halo diff 0tbq
  halo diff 0tbq --story US-002
  halo diff 0tbq | git apply --stat

See also: halo land, halo status`;

async function diff(runId: string, story: string | undefined, cli: Cli): Promise<void> {
  const text = await cli.withOperations((operations) => operations.diff(runId, story));
  if (text === '') return cli.note('nothing was changed');
  await cli.write(cli.terminal.shown ? coloredDiff(text, cli.paint) : text);
}
