import type { Operations } from '../../api/operations.ts';
import { HaloError } from '../../core/failure/errors.ts';
import { isQuestion } from '../../core/run/questions.ts';
import type { Cli, Define } from '../cli.ts';
import { printControlResult } from '../output/print-control-result.ts';

interface Flags {
  story?: string;
  json?: true;
}

export const define: Define = (command, cli) => {
  command
    .description(
      'Answers the question of a story that ended with NEEDS_HUMAN. The story starts again with fresh attempts; question and answer are in its prompt. A question has one answer: a second one is refused.',
    )
    .argument('<runId>', 'any unique part of the id')
    .argument('<text>', 'the answer, at most 8,000 characters')
    .option('--story <id>', 'the story that asks (default: the only one)')
    .option('--json', 'print what changed as JSON')
    .addHelpText('after', HELP)
    .action((runId: string, text: string, flags: Flags) => answer(runId, text, { flags, cli }));
};

const HELP = `
Examples:
  halo answer 2dhe "Use the port of the old service, 8080."
  halo answer 2dhe --story US-002 "$(cat answer.md)"

Exit codes:
  0 answered    2 no such run or story, or no text    6 the story asks no question, or has an answer

See also: halo status, halo logs, halo resume --replan, halo retry`;

async function answer(runId: string, text: string, { flags, cli }: { flags: Flags; cli: Cli }): Promise<void> {
  const result = await cli.withRun(runId, async (operations, id) =>
    operations.answer(id, flags.story ?? (await requireAsking(operations, id)), text),
  );
  await printControlResult(result, { word: 'answered', json: flags.json === true, cli });
}

/** The only story of the run that asks a question. Throws STEER_REFUSED if none does, and USAGE if several do. */
async function requireAsking(operations: Operations, runId: string): Promise<string> {
  const { state } = await operations.get(runId);
  const [asking, ...others] = state.stories.filter(isQuestion).map(({ id }) => id);
  if (asking === undefined)
    throw new HaloError('STEER_REFUSED', `No story of run ${runId} asks a question.`, {
      hint: `Run \`halo status ${runId}\` to see its state.`,
    });
  if (others.length === 0) return asking;
  throw new HaloError('USAGE', `Several stories ask a question: ${[asking, ...others].join(', ')}.`, {
    hint: 'Name the one to answer with --story.',
  });
}
