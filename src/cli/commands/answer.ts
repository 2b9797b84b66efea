import type { Cli, Define } from '../cli.ts';
import { printControlResult } from '../output/print-control-result.ts';

interface Flags {
  story: string;
  json?: true;
}

export const define: Define = (command, cli) => {
  command
    .description(
      'Answers the question of a story that ended with NEEDS_HUMAN. The story starts again with fresh attempts; question and answer are in its prompt. A question has one answer: a second one is refused.',
    )
    .argument('<runId>', 'any unique part of the id')
    .argument('<text>', 'the answer, at most 8,000 characters')
    .requiredOption('--story <id>', 'the story that asks')
    .option('--json', 'print what changed as JSON')
    .addHelpText('after', HELP)
    .action((runId: string, text: string, flags: Flags) => answer(runId, text, { flags, cli }));
};

const HELP = `
Examples:
  halo answer 2dhe --story US-002 "Use the port of the old service, 8080."
  halo answer 2dhe --story US-002 "$(cat answer.md)"

Exit codes:
  0 answered    2 no such run or story, or no text    6 the story asks no question, or has an answer

See also: halo status, halo logs, halo resume --replan, halo retry`;

async function answer(runId: string, text: string, { flags, cli }: { flags: Flags; cli: Cli }): Promise<void> {
  const result = await cli.withRun(runId, (operations, id) => operations.answer(id, flags.story, text));
  await printControlResult(result, { word: 'answered', json: flags.json === true, cli });
}
