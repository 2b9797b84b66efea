import { HaloError } from '../../core/failure/errors.ts';
import type { Cli } from '../cli.ts';
import type { Define } from '../define.ts';
import { showDiff } from '../diff/diff-text.ts';
import { nameOnly, statLines } from '../diff/diff-stat.ts';
import { readPatches, type WantedPatch } from '../diff/read-patches.ts';
import { RUN_ARGUMENT } from '../options/resolve-run.ts';
import { parseCount } from '../run/run-until-signal.ts';

interface Flags extends WantedPatch {
  stat?: true;
  nameOnly?: true;
  raw?: true;
}

export const define: Define = (command, cli) => {
  command
    .description(
      'Shows what a run changed, as a unified diff from the commit that it started on, through your pager. Of a story that has not landed, what its last attempt made. Nothing is hidden in it: characters that a person would not see are spelled, and counted at the end.',
    )
    .argument(...RUN_ARGUMENT)
    .option('--story <id>', 'only what this story changed')
    .option('--attempt <n>', 'what this attempt at the story made, landed or not', parseCount)
    .option('--by-story', 'the change of each landed story, below a heading')
    .option('--stat', 'only the files, with the number of changed lines')
    .option('--name-only', 'only the names of the files')
    .option('--raw', 'the exact patch, byte for byte, for programs; not for a terminal')
    .addHelpText('after', HELP)
    .action((runId: string | undefined, flags: Flags) => diff(runId, flags, cli));
};

const HELP = `
Examples:
  halo diff 2dhe
  halo diff 2dhe --story US-002
  halo diff 2dhe --story US-002 --attempt 1 --stat
  halo diff 2dhe | less -R
  halo diff 2dhe --raw | git apply --stat

The pager is that of git: GIT_PAGER, core.pager of your own configuration, PAGER, or less.

See also: halo land, halo logs, halo status`;

async function diff(runId: string | undefined, flags: Flags, cli: Cli): Promise<void> {
  const { stat, nameOnly: names, raw } = flags;
  if ([stat, names, raw].filter((each) => each !== undefined).length > 1)
    throw new HaloError('USAGE', '--stat, --name-only and --raw exclude each other.', {
      hint: '`halo diff --help` says what each of them prints.',
    });
  const { patches, note } = await cli.withRun(runId, (operations, id) => readPatches(operations, id, flags));
  if (note !== undefined) await cli.note(cli.paintErr('warn', note));
  if (patches.every(({ patch }) => patch.length === 0)) return cli.note('nothing was changed');
  // Whoever has it on a terminal sees it in any case.
  if (raw && !cli.terminal.shown) {
    for (const { patch } of patches) await cli.writeExactly(patch);
    return;
  }
  await cli.paged(async () => {
    for (const { patch, heading } of patches) {
      if (heading !== undefined) await cli.print(cli.paint('strong', `── ${heading} ──`));
      if (names) await cli.print(...nameOnly(patch));
      else if (stat) await cli.print(...statLines(patch, cli.paint));
      else await showDiff(patch, cli);
    }
  });
}
