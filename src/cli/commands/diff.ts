import { HaloError } from '../../core/failure/errors.ts';
import type { Cli, Define } from '../cli.ts';
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
      'Shows the changes of a run as a unified diff against its base commit, in your pager. For a story that has not passed, shows the changes of its last attempt. Hidden characters are printed as code points and counted at the end.',
    )
    .argument(...RUN_ARGUMENT)
    .option('--story <id>', 'only the changes of this story')
    .option('--attempt <n>', 'the changes of this attempt, whatever its result', parseCount)
    .option(
      '--since <n>',
      'with --story: what changed after the commit of this attempt, which was sent back',
      parseCount,
    )
    .option('--by-story', 'the changes of each passed story, below a heading')
    .option('--stat', 'only the files, with the number of changed lines')
    .option('--name-only', 'only the names of the files')
    .option('--raw', 'the exact patch, byte for byte, for programs (not on a terminal)')
    .addHelpText('after', HELP)
    .action((runId: string | undefined, flags: Flags) => diff(runId, flags, cli));
};

const HELP = `
Examples:
  halo diff 2dhe
  halo diff 2dhe --story US-002
  halo diff 2dhe --story US-002 --attempt 1 --stat
  halo diff 2dhe --story US-002 --since 1
  halo diff 2dhe | less -R
  halo diff 2dhe --raw | git apply --stat

The pager is git's: GIT_PAGER, core.pager of your git configuration, PAGER, or less.

See also: halo land, halo logs, halo status`;

async function diff(runId: string | undefined, flags: Flags, cli: Cli): Promise<void> {
  const { stat, nameOnly: names, raw } = flags;
  if ([stat, names, raw].filter((each) => each !== undefined).length > 1)
    throw new HaloError('USAGE', '--stat, --name-only and --raw exclude each other.', {
      hint: 'Run `halo diff --help` for their meanings.',
    });
  const { patches, note } = await cli.withRun(runId, (operations, id) => readPatches(operations, id, flags));
  if (note !== undefined) await cli.note(cli.paintErr('warn', note));
  if (patches.length === 0 && note !== undefined) return;
  if (patches.every(({ patch }) => patch.length === 0)) return cli.note('nothing was changed');
  // On a terminal, the user sees it anyway.
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
