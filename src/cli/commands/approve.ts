import type { StoryDecisionResult } from '../../core/run/control-result.ts';
import { isDone, type RunState } from '../../core/run/state.ts';
import { landingChanges, type Flag } from '../../core/review/flags.ts';
import { CONFIRM_OPTION, confirming } from '../options/confirm-flags.ts';
import { commandOf, landingStep } from '../../core/run/next-steps.ts';
import { safeLine } from '../../core/text/safe-text.ts';
import type { Cli, Define } from '../cli.ts';
import { noteIfNoWorker } from '../options/control-command.ts';
import { noteReview } from '../output/review-text.ts';
import { describeDecided } from './reject.ts';
import { RUN_ARGUMENT } from '../options/resolve-run.ts';

interface Flags {
  story?: string;
  json?: true;
  confirm?: Flag[];
}

export const define: Define = (command, cli) => {
  command
    .description(
      'Approves the commit of a story that is waiting for approval. The commit that passed the gates lands and the run continues. If other stories have passed since, a worker first merges the commit onto them and runs the gates again. Without --story, approves the result of a run that has ended, so that `halo land` accepts it.',
    )
    .argument(...RUN_ARGUMENT)
    .option('--story <id>', 'the story that is waiting')
    .option(...CONFIRM_OPTION)
    .option('--json', 'print the result as JSON')
    .addHelpText('after', HELP)
    .action((runId: string | undefined, flags: Flags) => approve(runId, flags, cli));
};

const HELP = `
Examples:
  halo diff 2dhe --story US-002 && halo approve 2dhe --story US-002
  halo diff 2dhe && halo approve 2dhe && halo land 2dhe
  halo approve 2dhe --story US-002 --confirm protected

Exit codes:
  0 approved    2 no such run or story    6 refused    10 the branch has moved

See also: halo show, halo status, halo diff, halo reject`;

async function approve(runId: string | undefined, flags: Flags, cli: Cli): Promise<void> {
  const { story, json, confirm } = flags;
  if (story === undefined) return approveRun(runId, flags, cli);
  const { decided, view } = await cli.withRun(runId, async (operations, id) => {
    if (!json) await noteReview(operations, id, { cli, story });
    const before = (await operations.getRun({ runId: id })).state.stories;
    const stories = before.filter((each) => each.id === story && each.held !== undefined);
    const [held] = stories.flatMap((each) => each.held ?? []);
    const asked = { runId: id, verb: 'approve', changes: stories, commit: held?.commit, confirm, json } as const;
    const decided = await confirming(
      asked,
      (confirmation) => operations.approve({ runId: id, story, ...confirmation }),
      cli,
    );
    return { decided, view: await operations.getRun({ runId: id }) };
  });
  if (json) return cli.printJson(decided);
  const word = decided.changed ? cli.paint('good', 'approved') : cli.paint('quiet', 'as before');
  await cli.print(`${word}  ${describeDecided(decided)}`);
  if ('story' in decided) await cli.note(whatNext(view.state, decided));
  await noteIfNoWorker(view, cli);
}

async function approveRun(runId: string | undefined, { json, confirm }: Flags, cli: Cli): Promise<void> {
  const { decided, next } = await cli.withRun(runId, async (operations, id) => {
    if (!json) await noteReview(operations, id, { cli });
    const { state } = await operations.getRun({ runId: id });
    const changes = landingChanges(state);
    const asked = { runId: id, verb: 'approve', changes, commit: state.tip, confirm, json } as const;
    const decided = await confirming(asked, (confirmation) => operations.approve({ runId: id, ...confirmation }), cli);
    return { decided, next: commandOf(landingStep(state)) };
  });
  if (json) return cli.printJson(decided);
  const word = decided.changed ? cli.paint('good', 'approved') : cli.paint('quiet', 'as before');
  await cli.print(`${word}  ${describeDecided(decided)}`);
  const landed = 'tip' in decided ? decided.landed : undefined;
  await cli.note(landed === undefined ? `Next: ${next}` : `Landed on ${safeLine(landed.branch)}.`);
}

function whatNext(state: RunState, { goesOn, landed }: StoryDecisionResult): string {
  const { runId, status, stopReason, stories } = state;
  if (status === 'ended') {
    const done = `The run has ended: ${stopReason}, ${stories.filter(isDone).length} of ${stories.length} stories done.`;
    return `${done} Next: ${commandOf(landingStep(state))}`;
  }
  if (!landed && goesOn) {
    const why = 'Other stories have passed since. A worker merges the commit, runs the gates again and lands it';
    return `${why}: halo logs ${runId} -f`;
  }
  if (!goesOn) return `No other story can start yet: halo status ${runId}`;
  return `The run continues as soon as a worker is free: halo logs ${runId} -f`;
}
