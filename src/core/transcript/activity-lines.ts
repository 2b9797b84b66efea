import type { AgentActivity } from '../agent.ts';
import { readsOnly } from '../reads-only.ts';
import { safeLine } from '../safe-text.ts';
import type { StoryLine, Tone } from './transcript-line.ts';
import { cap, cleanLines, continued, exitText, type Extent, tail } from '../transcript-text.ts';

/** Enough to tell which: the whole command was shown when it started. */
const FAILED_COMMAND_LENGTH = 60;

/** What an agent did, in the lines of its story. */
export function activityLines(activity: AgentActivity, extent: Extent): StoryLine[] {
  switch (activity.kind) {
    case 'say':
      return spoken(activity.text, 'plain', extent);
    case 'warn':
      return spoken(`warning: ${activity.text}`, 'warn', extent);
    case 'run':
      return [{ label: 'agent', tone: 'strong', text: `$ ${safeLine(activity.command, extent.line)}` }];
    case 'edit': {
      const change = { add: 'added', update: 'edited', delete: 'deleted' }[activity.change];
      return [{ label: 'agent', tone: 'plain', text: `${change.padEnd(7)} ${safeLine(activity.path)}` }];
    }
    case 'ran': {
      if (activity.exitCode === 0) return continued(shortOutput(activity, extent), 'quiet', '  ');
      const text = `${exitText(activity.exitCode)}: ${safeLine(activity.command, FAILED_COMMAND_LENGTH)}`;
      const output = continued(tail(activity.output, extent.failedOutput, extent.line), 'quiet', '  ');
      return [{ label: 'agent', tone: 'warn', text }, ...output];
    }
  }
}

/** What the agent only read is counted: it wanted to know it, the reader of the log does not. */
function shortOutput({ command, output }: { command: string; output: string }, extent: Extent): string[] {
  const count = cleanLines(output).length;
  if (count > extent.output && readsOnly(command)) return [`… ${count} lines`];
  return tail(output, extent.output, extent.line);
}

function spoken(text: string, tone: Tone, extent: Extent): StoryLine[] {
  const [first, ...rest] = cap(text, extent.said, extent.line);
  return first === undefined ? [] : [{ label: 'agent', tone, text: first }, ...continued(rest, tone, '')];
}
