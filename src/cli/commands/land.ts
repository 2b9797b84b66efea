import { HaloError } from '../../core/failure/errors.ts';
import type { RunState } from '../../core/run-state.ts';
import { findingsOf } from '../../core/story-findings.ts';
import { askPerson } from '../ask-person.ts';
import { safeLine } from '../../core/safe-text.ts';
import type { Cli } from '../cli.ts';
import type { Define } from '../define.ts';
import { RUN_ARGUMENT } from '../options/resolve-run.ts';
import { noteReview } from '../output/review-run.ts';
import { tellFindings } from '../tell-findings.ts';

interface Flags {
  yes?: true;
  json?: true;
}

export const define: Define = (command, cli) => {
  command
    .description(
      'Fast-forwards the branch that a run started from to what the run made, in your repository and its checkout; to a repository behind an address it pushes the branch of the run. Never merges and never overwrites: when that is not possible it says why and changes nothing.',
    )
    .argument(...RUN_ARGUMENT)
    .option('-y, --yes', 'do not ask when the changes have what looks like a secret, fewer tests or hidden characters')
    .option('--json', 'print branch, from and to as JSON')
    .addHelpText('after', HELP)
    .action((runId: string | undefined, flags: Flags) => land(runId, flags, cli));
};

const HELP = `
Examples:
  halo diff 2dhe && halo land 2dhe

Exit codes:
  0 landed    2 no such run    6 refused, with the reason

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
  if (landed.from === landed.to) return cli.print(`${landed.branch} is at ${landed.to.slice(0, 7)} already`);
  const { branch, from, to, pushedTo } = landed;
  const word = pushedTo === undefined ? 'landed' : 'pushed';
  await cli.print(`${cli.paint('good', word)}  ${safeLine(branch)}  ${from.slice(0, 7)}..${to.slice(0, 7)}`);
  if (pushedTo !== undefined && branch.startsWith('halo/'))
    await cli.note(
      `to ${safeLine(pushedTo, 300)}; merge it there. With \`[land] push = "base"\`, halo land fast-forwards the branch that a run started from.`,
    );
}

/** Names what a reader may have overlooked, and asks a person at a terminal whether to go on. Throws LAND_REFUSED. */
async function confirm({ stories, landed }: RunState, { yes }: Flags, cli: Cli): Promise<void> {
  const passed = landed === undefined ? stories.filter(({ progress }) => progress === 'passed') : [];
  await tellFindings(passed, cli);
  if (yes || cli.ask === undefined || !passed.some((story) => findingsOf(story).length > 0)) return;
  const answer = await askPerson('Land it all the same? [y]es, anything else: no  ', cli);
  if (answer === 'y' || answer === 'yes') return;
  throw new HaloError('LAND_REFUSED', 'Nothing was landed.', {
    hint: 'Look at the changes with `halo diff`; --yes lands them without a question.',
  });
}
