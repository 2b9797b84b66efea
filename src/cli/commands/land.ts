import { landingChanges, type Flag } from '../../core/review/flags.ts';
import { CONFIRM_OPTION, confirming } from '../options/confirm-flags.ts';
import { safeLine } from '../../core/text/safe-text.ts';
import type { Cli, Define } from '../cli.ts';
import { RUN_ARGUMENT } from '../options/resolve-run.ts';
import { noteReview } from '../output/review-text.ts';

interface Flags {
  confirm?: Flag[];
  json?: true;
}

export const define: Define = (command, cli) => {
  command
    .description(
      'Fast-forwards the base branch of a run to its result, in your repository and its checkout. For a repository given by URL, pushes the branch of the run. Never merges and never overwrites: if a fast-forward is not possible, reports why and changes nothing.',
    )
    .argument(...RUN_ARGUMENT)
    .option(...CONFIRM_OPTION)
    .option('--json', 'print the result as JSON')
    .addHelpText('after', HELP)
    .action((runId: string | undefined, flags: Flags) => land(runId, flags, cli));
};

const HELP = `
Examples:
  halo diff 2dhe && halo land 2dhe
  halo land 2dhe --confirm secret,binary

Exit codes:
  0 landed    2 no such run    6 refused, or not confirmed

See also: halo show, halo diff, halo status`;

async function land(runId: string | undefined, flags: Flags, cli: Cli): Promise<void> {
  const landed = await cli.withRun(runId, async (operations, id) => {
    if (!flags.json) await noteReview(operations, id, { cli });
    const { state } = await operations.getRun({ runId: id });
    const changes = state.landed === undefined ? landingChanges(state) : [];
    const asked = { ...flags, runId: id, verb: 'land', changes, commit: state.tip, confirm: flags.confirm } as const;
    return confirming(asked, (confirmation) => operations.land({ runId: id, ...confirmation }), cli);
  });
  if (flags.json) return cli.printJson(landed);
  if (landed.from === landed.to) return cli.print(`${landed.branch} is already at ${landed.to.slice(0, 7)}`);
  const { branch, from, to, pushedTo } = landed;
  const word = pushedTo === undefined ? 'landed' : 'pushed';
  await cli.print(`${cli.paint('good', word)}  ${safeLine(branch)}  ${from.slice(0, 7)}..${to.slice(0, 7)}`);
  if (pushedTo !== undefined && branch.startsWith('halo/'))
    await cli.note(
      `to ${safeLine(pushedTo, 300)}; merge it there. With \`[land] push = "base"\`, halo land fast-forwards the branch that a run started from.`,
    );
}
