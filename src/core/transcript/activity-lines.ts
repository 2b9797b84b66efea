import type { AgentActivity } from '../agent.ts';
import { safeLine } from '../text/safe-text.ts';
import { headLines, cleanLines, continuationLines, exitText, tailLines, type Extent } from './excerpt.ts';
import type { StoryLine, Tone } from './transcript-line.ts';

/** Short, because the whole command was shown when it started. */
const FAILED_COMMAND_LENGTH = 60;

/** The transcript lines of an agent's activity. */
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
      if (activity.exitCode === 0) return continuationLines(shortOutput(activity, extent), 'quiet', '  ');
      const text = `${exitText(activity.exitCode)}: ${safeLine(activity.command, FAILED_COMMAND_LENGTH)}`;
      const output = continuationLines(tailLines(activity.output, extent.failedOutput, extent.line), 'quiet', '  ');
      return [{ label: 'agent', tone: 'warn', text }, ...output];
    }
  }
}

/** Shows only the number of lines that a read-only command printed. */
function shortOutput({ command, output }: { command: string; output: string }, extent: Extent): string[] {
  const count = cleanLines(output).length;
  if (count > extent.output && isReadOnlyCommand(command)) return [`… ${count} lines`];
  return tailLines(output, extent.output, extent.line);
}

function spoken(text: string, tone: Tone, extent: Extent): StoryLine[] {
  const [first, ...rest] = headLines(text, extent.said, extent.line);
  return first === undefined ? [] : [{ label: 'agent', tone, text: first }, ...continuationLines(rest, tone, '')];
}

/** Commands that only display existing files, by their start. */
const READ_ONLY_PROGRAMS =
  /^(cat|head|tail|sed -n|nl|less|ls|tree|pwd|find|fd|rg|grep|git (show|log|diff|status|grep|ls-files))\b/;

/** Whether a shell command only reads files. A heuristic for display. */
function isReadOnlyCommand(command: string): boolean {
  return command.split(/&&|\|\|?|;|\n/).every((part) => READ_ONLY_PROGRAMS.test(part.trim()));
}
