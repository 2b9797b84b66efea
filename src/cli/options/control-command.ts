import type { Command } from 'commander';
import type { Operations } from '../../api/operations.ts';
import type { ControlResult } from '../../core/run/control-result.ts';
import type { Cli, Define } from '../cli.ts';
import { RUN_ARGUMENT } from './resolve-run.ts';
import { printControlResult } from '../output/print-control-result.ts';

type RunControl = (operations: Operations, runId: string, story: string | undefined) => Promise<ControlResult>;

interface ControlCommand<F> {
  description: string;
  help: string;
  /** The message after a change. */
  word: string;
  /** Adds the options of this command. */
  options?: (command: Command) => Command;
  /** Reads these options before anything is done. */
  prepare: (flags: F, cli: Cli) => Promise<RunControl> | RunControl;
}

interface Flags {
  story?: string;
  json?: true;
}

/** A command that controls a run, or one story of it. */
export function controlCommand<F extends object = object>(definition: ControlCommand<F>): Define {
  const { description, help, word, options, prepare } = definition;
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
        const control = await prepare(flags, cli);
        const result = await cli.withRun(runId, (operations, id) => control(operations, id, flags.story));
        await printControlResult(result, { word, json: flags.json === true, cli });
      });
  };
}
