import type { Operations } from '../../api/operations.ts';
import { HaloError } from '../../core/failure/errors.ts';
import { isQuestion, questionLines } from '../../core/run/questions.ts';
import { storyOf } from '../../core/run/state.ts';
import { safeLine } from '../../core/text/safe-text.ts';
import type { Cli, Define } from '../cli.ts';
import { RUN_ARGUMENT } from '../options/resolve-run.ts';
import { readMessage } from '../options/read-message.ts';
import { printControlResult } from '../options/control-command.ts';

interface Flags {
  story?: string;
  option?: string;
  file?: string;
  edit?: true;
  json?: true;
}

export const define: Define = (command, cli) => {
  command
    .description(
      'Answers the question of a story that ended with NEEDS_HUMAN. The story starts again with fresh attempts; question and answer are in its prompt. A question has one answer: a second one is refused.',
    )
    .argument(...RUN_ARGUMENT)
    .argument('[text]', 'the answer, at most 8,000 characters; with a space in it, the run may be left out')
    .option('--story <id>', 'the story that asks (default: the only one)')
    .option('--option <n>', 'instead of a text: an option that the agent proposed, from 1')
    .option('--file <file>', 'the answer from a file; `-`: from stdin')
    .option('--edit', 'write the answer in $VISUAL or $EDITOR, which shows the question')
    .option('--json', 'print the result as JSON')
    .addHelpText('after', HELP)
    .action((...[runId, text, flags]: [string | undefined, string | undefined, Flags]) =>
      // No id of a run has a space.
      text === undefined && runId?.includes(' ') === true
        ? answer(undefined, runId, { flags, cli })
        : answer(runId, text, { flags, cli }),
    );
};

const HELP = `
Examples:
  halo answer "Use euros."
  halo answer 2dhe "Use the port of the old service, 8080."
  halo answer 2dhe --story US-002 --option 2
  halo answer 2dhe --story US-002 --file answer.md

Exit codes:
  0 answered    2 no such run or story, or no text    6 the story asks no question, or has an answer

See also: halo status, halo logs, halo resume --replan, halo retry`;

async function answer(
  runId: string | undefined,
  text: string | undefined,
  { flags, cli }: { flags: Flags; cli: Cli },
): Promise<void> {
  const result = await cli.withRun(runId, async (operations, id) => {
    const story = flags.story ?? (await requireAsking(operations, id));
    return operations.answer({
      runId: id,
      story,
      ...(await readAnswerOf(text, flags, { cli, about: () => ask(operations, id, story) })),
    });
  });
  await printControlResult(result, { word: 'answered', json: flags.json === true, cli });
}

/** The text or the option of the command line. Throws USAGE unless there is one of them. */
async function readAnswerOf(
  text: string | undefined,
  { option, file, edit }: Flags,
  { cli, about }: { cli: Cli; about: () => Promise<string> },
): Promise<{ text: string } | { option: number }> {
  const given = await readMessage({ text, file, edit }, about, cli);
  if ((given === undefined) === (option === undefined))
    throw new HaloError('USAGE', 'An answer is either a text or an option.', {
      hint: 'Pass a text, --option, --file or --edit.',
    });
  if (given !== undefined) return { text: given };
  const chosen = Number(option);
  if (Number.isInteger(chosen) && chosen > 0) return { option: chosen };
  throw new HaloError('USAGE', `--option must be a number from 1, not ${safeLine(option ?? '')}.`);
}

/** The question of a story with its options. */
async function ask(operations: Operations, runId: string, storyId: string): Promise<string> {
  const { state } = await operations.getRun({ runId });
  const story = storyOf(state, storyId);
  return [story.summary ?? '', ...questionLines(story)].join('\n');
}

/** The only story of the run that asks a question. Throws CONTROL_REFUSED if none does, and USAGE if several do. */
async function requireAsking(operations: Operations, runId: string): Promise<string> {
  const { state } = await operations.getRun({ runId });
  const [asking, ...others] = state.stories.filter(isQuestion).map(({ id }) => id);
  if (asking === undefined)
    throw new HaloError('CONTROL_REFUSED', `No story of run ${runId} asks a question.`, {
      hint: `Run \`halo status ${runId}\` to see its state.`,
    });
  if (others.length === 0) return asking;
  throw new HaloError('USAGE', `Several stories ask a question: ${[asking, ...others].join(', ')}.`, {
    hint: 'Name the one to answer with --story.',
  });
}
