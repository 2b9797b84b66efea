import type { Operations, Steered } from '../api/operations.ts';
import type { Define } from './define.ts';
import { RUN_ARGUMENT } from './resolve-run.ts';
import { showSteered } from './show-steered.ts';

interface Steering {
  description: string;
  help: string;
  /** What it says when something changed. */
  word: string;
  steer: (operations: Operations, runId: string, story: string | undefined) => Promise<Steered>;
}

interface Flags {
  story?: string;
  json?: true;
}

/** A command by which a person steers a run, or one story of it. */
export function steeringCommand({ description, help, word, steer }: Steering): Define {
  return (command, cli) => {
    command
      .description(description)
      .argument(...RUN_ARGUMENT)
      .option('--story <id>', 'only this story')
      .option('--json', 'print what changed as JSON')
      .addHelpText('after', help)
      .action(async (runId: string | undefined, { story, json }: Flags) => {
        const steered = await cli.withRun(runId, (operations, id) => steer(operations, id, story));
        await showSteered(steered, { word, json: json === true, cli });
      });
  };
}
