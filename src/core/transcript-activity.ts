import type { AgentActivity } from './agent.ts';
import { readsOnly } from './reads-only.ts';
import { safeLine } from './safe-text.ts';
import type { StoryLine, Tone } from './transcript-line.ts';
import {
  cap,
  cleanLines,
  continued,
  exitText,
  FAILED_OUTPUT_LINES,
  LINE_LENGTH,
  SAID_LINES,
  tail,
} from './transcript-text.ts';

const OUTPUT_LINES = 3;
/** Enough to tell which: the whole command was shown when it started. */
const FAILED_COMMAND_LENGTH = 60;

/** What an agent did, in the lines of its story. */
export function activityLines(activity: AgentActivity): StoryLine[] {
  switch (activity.kind) {
    case 'say':
      return spoken(activity.text, 'plain');
    case 'warn':
      return spoken(`warning: ${activity.text}`, 'warn');
    case 'run':
      return [{ label: 'agent', tone: 'strong', text: `$ ${safeLine(activity.command, LINE_LENGTH)}` }];
    case 'edit': {
      const change = { add: 'added', update: 'edited', delete: 'deleted' }[activity.change];
      return [{ label: 'agent', tone: 'plain', text: `${change.padEnd(7)} ${safeLine(activity.path)}` }];
    }
    case 'ran': {
      if (activity.exitCode === 0) return continued(shortOutput(activity), 'quiet', '  ');
      const text = `${exitText(activity.exitCode)}: ${safeLine(activity.command, FAILED_COMMAND_LENGTH)}`;
      const output = continued(tail(activity.output, FAILED_OUTPUT_LINES), 'quiet', '  ');
      return [{ label: 'agent', tone: 'warn', text }, ...output];
    }
  }
}

/** What the agent only read is counted: it wanted to know it, the reader of the log does not. */
function shortOutput({ command, output }: { command: string; output: string }): string[] {
  const count = cleanLines(output).length;
  if (count > OUTPUT_LINES && readsOnly(command)) return [`… ${count} lines`];
  return tail(output, OUTPUT_LINES);
}

function spoken(text: string, tone: Tone): StoryLine[] {
  const [first, ...rest] = cap(text, SAID_LINES);
  return first === undefined ? [] : [{ label: 'agent', tone, text: first }, ...continued(rest, tone, '')];
}
