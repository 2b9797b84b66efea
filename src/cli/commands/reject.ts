import type { ResultOf } from '../../api/operations.ts';
import { HaloError } from '../../core/failure/errors.ts';
import { MAX_FEEDBACK_ROUNDS } from '../../core/review/feedback.ts';
import { safeLine } from '../../core/text/safe-text.ts';
import type { Cli, Define } from '../cli.ts';
import { readFeedback, type FeedbackFlags } from '../options/read-message.ts';
import { RUN_ARGUMENT } from '../options/resolve-run.ts';
import { noteIfNoWorker } from '../options/control-command.ts';

interface Flags extends FeedbackFlags {
  story?: string;
  reason?: string;
  json?: true;
}

export const define: Define = (command, cli) => {
  command
    .description(
      'Rejects the commit of a story that is waiting for approval. The run ends with APPROVAL_DENIED; passed stories stay. Without --story, rejects the result of a run that has ended: `halo land` then refuses it. With feedback, the story starts again instead, with the feedback in its prompt; its commit may also have landed on the branch of the run.',
    )
    .argument(...RUN_ARGUMENT)
    .option('--story <id>', 'the story that is waiting')
    .option('--reason <text>', 'the reason, for the journal and the summary')
    .option('--feedback <text>', 'what the next attempt has to change, at most 8,000 characters')
    .option('--feedback-file <file>', 'the same from a file; `-`: from stdin')
    .option('--edit', 'write the feedback in $VISUAL or $EDITOR, which shows the diff')
    .option(
      '--comment <words...>',
      'a comment on lines of the diff: `path:line-line "text"`; repeatable, after the run id',
    )
    .option('--comments <file>', 'comments as JSON: a list of path, line, endLine, side and text; `-`: from stdin')
    .option('--json', 'print the result as JSON')
    .addHelpText('after', HELP)
    .action((runId: string | undefined, flags: Flags) => reject(runId, flags, cli));
};

const HELP = `
Examples:
  halo reject 2dhe --story US-002 --reason "CI must not get more rights"
  halo reject 2dhe --story US-002 --feedback "Use the client." --comment src/a.ts:12-14 "Not needed."
  halo reject 2dhe --story US-002 --edit

Exit codes:
  0 rejected    2 no such run or story    6 nothing to reject

See also: halo status, halo diff, halo approve, halo answer`;

async function reject(runId: string | undefined, flags: Flags, cli: Cli): Promise<void> {
  const { story, reason, json } = flags;
  const { feedback, feedbackFile, edit, comment, comments } = flags;
  if ([feedback, feedbackFile, edit, comment, comments].some((each) => each !== undefined))
    return sendBack(runId, flags, cli);
  const decided = await cli.withRun(runId, (operations, runId) => operations.reject({ runId, story, reason }));
  if (json) return cli.printJson(decided);
  const word = decided.changed ? cli.paint('bad', 'rejected') : cli.paint('quiet', 'as before');
  await cli.print(`${word}  ${describeDecided(decided)}`);
}

/** What a decision is about. */
export function describeDecided(decided: ResultOf<'approve'>): string {
  if ('story' in decided) return `${safeLine(decided.story)}  ${decided.commit.slice(0, 7)}`;
  return `${decided.runId}  up to ${decided.tip.slice(0, 7)}`;
}

async function sendBack(runId: string | undefined, flags: Flags, cli: Cli): Promise<void> {
  const { story, reason } = flags;
  if (story === undefined || reason !== undefined)
    throw new HaloError('USAGE', 'Feedback needs --story, and no --reason: it starts the story again.');
  const { decided, view } = await cli.withRun(runId, async (operations, id) => {
    const diff = async () => (await operations.readDiff({ runId: id, story })).toString('utf8');
    const given = await readFeedback(flags, diff, cli);
    const decided = await operations.reject({ runId: id, story, ...(given ?? { feedback: '' }) });
    return { decided, view: await operations.getRun({ runId: id }) };
  });
  if (flags.json) return cli.printJson(decided);
  const word = decided.changed ? cli.paint('warn', 'sent back') : cli.paint('quiet', 'as before');
  const rounds = view.state.stories.find(({ id }) => id === story)?.feedback?.length ?? 1;
  await cli.print(`${word}  ${describeDecided(decided)}  round ${rounds} of at most ${MAX_FEEDBACK_ROUNDS}`);
  await noteIfNoWorker(view, cli);
}
