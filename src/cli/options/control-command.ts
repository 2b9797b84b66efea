import type { Command } from 'commander';
import type { Operations } from '../../api/operations.ts';
import type { ControlResult } from '../../core/run/control-result.ts';
import type { Cli, Define } from '../cli.ts';
import {
  addAllOptions,
  addConfirmation,
  assertAll,
  controlAll,
  type AllFlags,
  type Selectable,
} from './control-all.ts';
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
  /** Lets `--all` do the same to several runs. */
  all?: All<F>;
  /** Reads these options before anything is done. */
  prepare: (flags: F, cli: Cli) => Promise<RunControl> | RunControl;
}

interface All<F> {
  verb: string;
  /** The runs that `--all` selects, for the help. */
  what?: string;
  /** False if `--yes` is an option of the command. */
  confirms?: false;
  /** Throws USAGE if `--all` needs another option. */
  select: (flags: F & AllFlags) => Selectable & { state?: string };
}

interface Flags extends AllFlags {
  story?: string;
}

/** A command that controls a run, or one story of it. */
export function controlCommand<F extends object = object>(definition: ControlCommand<F>): Define {
  const { description, help, word, options, all, prepare } = definition;
  return (command, cli) => {
    command
      .description(description)
      .argument(...RUN_ARGUMENT)
      .option('--story <id>', 'only this story');
    options?.(command);
    if (all !== undefined) addAllOptions(command, all.what);
    if (all !== undefined && all.confirms !== false) addConfirmation(command);
    command
      .option('--json', 'print what changed as JSON')
      .addHelpText('after', help)
      .action(async (runId: string | undefined, flags: Flags & F) => {
        const control = await prepare(flags, cli);
        if (all !== undefined) {
          assertAll(flags, { 'a run': runId, '--story': flags.story }, all.confirms !== false);
          const each = (operations: Operations, id: string) => control(operations, id, undefined);
          if (flags.all) return controlAll(flags, { ...all.select(flags), verb: all.verb, word, control: each }, cli);
        }
        const result = await cli.withRun(runId, (operations, id) => control(operations, id, flags.story));
        await printControlResult(result, { word, json: flags.json === true, cli });
      });
  };
}
