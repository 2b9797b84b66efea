import type { Cli } from '../cli.ts';
import type { Define } from '../define.ts';
import { RUN_ARGUMENT } from '../resolve-run.ts';
import { showDiff } from '../diff-text.ts';

interface Flags {
  story?: string;
  raw?: true;
}

export const define: Define = (command, cli) => {
  command
    .description(
      'Shows what a run changed, as a unified diff from the commit that it started on. Nothing is hidden in it: characters that a person would not see are spelled, and counted at the end.',
    )
    .argument(...RUN_ARGUMENT)
    .option('--story <id>', 'only what this story changed')
    .option('--raw', 'the exact patch, byte for byte, for programs; not for a terminal')
    .addHelpText('after', HELP)
    .action((runId: string | undefined, flags: Flags) => diff(runId, flags, cli));
};

const HELP = `
Examples:
  halo diff 2dhe
  halo diff 2dhe --story US-002
  halo diff 2dhe | less -R
  halo diff 2dhe --raw | git apply --stat

See also: halo land, halo status`;

async function diff(runId: string | undefined, { story, raw }: Flags, cli: Cli): Promise<void> {
  const patch = await cli.withRun(runId, (operations, runId) => operations.diff(runId, story));
  if (patch.length === 0) return cli.note('nothing was changed');
  // Whoever has it on a terminal sees it in any case.
  await (raw && !cli.terminal.shown ? cli.writeExactly(patch) : showDiff(patch, cli));
}
