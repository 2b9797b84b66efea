import type { Command } from 'commander';
import { safeLine } from '../../core/text/safe-text.ts';
import type { Cli } from '../cli.ts';

/** Flags that `halo task` and `halo loop` share. */
export interface TaskFlags {
  tasks?: string;
  prompt?: string;
  workspace?: string;
  assignee: string;
}

export function addTaskOptions(command: Command, assignee: string): Command {
  return command
    .option('--tasks <path>', 'the tasks file (default: prd.json, else tasks.json, in the workspace)')
    .option(
      '--prompt <path>',
      'the file that every prompt starts with (default: ~/.prompts/autonomous-senior-engineer.prompt.md)',
    )
    .option('--workspace <path>', 'the git checkout to work in (default: the current directory)')
    .option('--assignee <name>', 'the name in the lines of the log', assignee);
}

const MAX_LINE_LENGTH = 1000;

/** Writes lines to stderr, with the time and the source. */
export function labelled(assignee: string, cli: Cli): (line: string) => Promise<void> {
  return (line) =>
    cli.note(`${new Date().toISOString()} [${safeLine(assignee, 40)}] ${safeLine(line, MAX_LINE_LENGTH)}`);
}
