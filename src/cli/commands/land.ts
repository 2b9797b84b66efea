import { HaloError } from '../../core/failure/errors.ts';
import type { RunState } from '../../core/run/state.ts';
import { findStoryFindings } from '../../core/review/story-findings.ts';
import { askPerson } from '../run/run-until-signal.ts';
import { safeLine } from '../../core/text/safe-text.ts';
import type { Cli, Define } from '../cli.ts';
import { RUN_ARGUMENT } from '../options/resolve-run.ts';
import { noteReview } from '../output/review-run.ts';
import { printFindings } from '../output/print-findings.ts';

interface Flags {
  yes?: true;
  json?: true;
}

export const define: Define = (command, cli) => {
  command
    .description(
      'Fast-forwards the base branch of a run to its result, in your repository and its checkout. For a repository given by URL, pushes the branch of the run. Never merges and never overwrites: if a fast-forward is not possible, reports why and changes nothing.',
    )
    .argument(...RUN_ARGUMENT)
    .option('-y, --yes', 'do not ask about possible secrets, removed tests or hidden characters')
    .option('--json', 'print branch, from and to as JSON')
    .addHelpText('after', HELP)
    .action((runId: string | undefined, flags: Flags) => land(runId, flags, cli));
};

const HELP = `
Examples:
  halo diff 2dhe && halo land 2dhe

Exit codes:
  0 landed    2 no such run    6 refused

See also: halo show, halo diff, halo status`;

async function land(runId: string | undefined, flags: Flags, cli: Cli): Promise<void> {
  const landed = await cli.withRun(runId, async (operations, id) => {
    if (!flags.json) {
      await noteReview(operations, id, { cli });
      await confirm((await operations.get(id)).state, flags, cli);
    }
    return operations.land(id);
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

/** Prints findings that a reviewer may have overlooked, and asks at a terminal whether to continue. Throws LAND_REFUSED. */
async function confirm({ stories, landed }: RunState, { yes }: Flags, cli: Cli): Promise<void> {
  const passed = landed === undefined ? stories.filter(({ progress }) => progress === 'passed') : [];
  await printFindings(passed, cli);
  if (yes || cli.ask === undefined || !passed.some((story) => findStoryFindings(story).length > 0)) return;
  const answer = await askPerson('Land it anyway? [y]es, anything else: no  ', cli);
  if (answer === 'y' || answer === 'yes') return;
  throw new HaloError('LAND_REFUSED', 'Nothing was landed.', {
    hint: 'Review the changes with `halo diff`, or use --yes to land without being asked.',
  });
}
