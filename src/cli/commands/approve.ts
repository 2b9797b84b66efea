import type { Decided } from '../../api/operations.ts';
import { isDone } from '../../core/progress.ts';
import type { RunState } from '../../core/run-state.ts';
import { safeLine } from '../../core/safe-text.ts';
import type { Cli } from '../cli.ts';
import type { Define } from '../define.ts';
import { tellFindings } from '../tell-findings.ts';
import { RUN_ARGUMENT } from '../options/resolve-run.ts';
import { noteReview } from '../output/review-run.ts';

interface Flags {
  story?: string;
  json?: true;
}

export const define: Define = (command, cli) => {
  command
    .description(
      'Lands the commit of a story that waits for a person, exactly as the gates have judged it, and the run goes on. Where other stories landed meanwhile, a worker merges it onto them and proves it again first. Without --story: says yes to all that an ended run made, for `halo land`.',
    )
    .argument(...RUN_ARGUMENT)
    .option('--story <id>', 'the story that waits')
    .option('--json', 'print story, commit and whether the run goes on as JSON')
    .addHelpText('after', HELP)
    .action((runId: string | undefined, flags: Flags) => approve(runId, flags, cli));
};

const HELP = `
Examples:
  halo diff 2dhe --story US-002 && halo approve 2dhe --story US-002
  halo diff 2dhe && halo approve 2dhe && halo land 2dhe

Exit codes:
  0 approved    2 no such run or story    6 nothing waits, with the reason    10 others moved the branch

See also: halo show, halo status, halo diff, halo reject`;

async function approve(runId: string | undefined, { story, json }: Flags, cli: Cli): Promise<void> {
  if (story === undefined) return approveRun(runId, json === true, cli);
  const { decided, state } = await cli.withRun(runId, async (operations, id) => {
    if (!json) await noteReview(operations, id, { cli, story });
    const before = (await operations.get(id)).state.stories;
    await tellFindings(json ? [] : before.filter((each) => each.id === story), cli);
    const decided = await operations.approve(id, story);
    return { decided, state: (await operations.get(id)).state };
  });
  if (json) return cli.printJson(decided);
  const word = decided.changed ? cli.paint('good', 'approved') : cli.paint('quiet', 'as before');
  await cli.print(`${word}  ${safeLine(decided.story)}  ${decided.commit.slice(0, 7)}`);
  await cli.note(whatNext(state, decided));
}

async function approveRun(runId: string | undefined, json: boolean, cli: Cli): Promise<void> {
  const decided = await cli.withRun(runId, async (operations, id) => {
    if (!json) await noteReview(operations, id, { cli });
    const { stories } = (await operations.get(id)).state;
    await tellFindings(json ? [] : stories.filter(({ progress }) => progress === 'passed'), cli);
    return operations.approveRun(id);
  });
  if (json) return cli.printJson(decided);
  const { tip, landed, changed } = decided;
  const word = changed ? cli.paint('good', 'approved') : cli.paint('quiet', 'as before');
  await cli.print(`${word}  ${decided.runId}  up to ${tip.slice(0, 7)}`);
  await cli.note(
    landed === undefined ? `take it over: halo land ${decided.runId}` : `it is on ${safeLine(landed.branch)} now`,
  );
}

function whatNext({ runId, status, stopReason, stories }: RunState, { goesOn, landed }: Decided): string {
  if (status === 'ended') {
    const done = `The run has ended: ${stopReason}, ${stories.filter(isDone).length} of ${stories.length} stories done.`;
    return `${done} Next: halo land ${runId}`;
  }
  if (!landed && goesOn) {
    const why = 'Other stories have landed since: a worker merges it onto them, runs the gates again and lands it';
    return `${why}: halo logs ${runId} -f`;
  }
  if (!goesOn) return `No other story can start yet: halo status ${runId}`;
  return `The run continues when a worker takes it (halo worker, halo up): halo logs ${runId} -f`;
}
