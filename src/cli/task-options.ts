import type { Command } from 'commander';
import { safeLine } from '../core/safe-text.ts';
import type { Cli } from './cli.ts';

/** Flags that `halo task` and `halo loop` share. */
export interface TaskFlags {
  tasks?: string;
  prompt?: string;
  workspace?: string;
  assignee: string;
}

export function addTaskOptions(command: Command, assignee: string): Command {
  return command
    .option('--tasks <path>', 'the tasks file, by default prd.json, else tasks.json, of the workspace')
    .option(
      '--prompt <path>',
      'what every prompt begins with, by default ~/.prompts/autonomous-senior-engineer.prompt.md',
    )
    .option('--workspace <path>', 'the git checkout to work in, by default the folder here')
    .option('--assignee <name>', 'who is named in the lines of the log', assignee);
}

const LONGEST_LINE = 1000;

/** Writes lines to stderr, with the time and who says it. */
export function labelled(assignee: string, cli: Cli): (line: string) => Promise<void> {
  return (line) => cli.note(`${new Date().toISOString()} [${safeLine(assignee, 40)}] ${safeLine(line, LONGEST_LINE)}`);
}
