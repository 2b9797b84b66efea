import type { Command } from 'commander';
import type { Operations, Steered } from '../api/operations.ts';
import type { Cli } from './cli.ts';
import type { Define } from './define.ts';
import { RUN_ARGUMENT } from './options/resolve-run.ts';
import { showSteered } from './output/print-control-result.ts';

type Steer = (operations: Operations, runId: string, story: string | undefined) => Promise<Steered>;

interface Steering<F> {
  description: string;
  help: string;
  /** What it says when something changed. */
  word: string;
  /** Adds options of its own. */
  options?: (command: Command) => Command;
  /** Reads them, before anything is done. */
  prepare: (flags: F, cli: Cli) => Promise<Steer> | Steer;
}

interface Flags {
  story?: string;
  json?: true;
}

/** A command by which a person steers a run, or one story of it. */
export function steeringCommand<F extends object = object>(steering: Steering<F>): Define {
  const { description, help, word, options, prepare } = steering;
  return (command, cli) => {
    command
      .description(description)
      .argument(...RUN_ARGUMENT)
      .option('--story <id>', 'only this story');
    options?.(command);
    command
      .option('--json', 'print what changed as JSON')
      .addHelpText('after', help)
      .action(async (runId: string | undefined, flags: Flags & F) => {
        const steer = await prepare(flags, cli);
        const steered = await cli.withRun(runId, (operations, id) => steer(operations, id, flags.story));
        await showSteered(steered, { word, json: flags.json === true, cli });
      });
  };
}
