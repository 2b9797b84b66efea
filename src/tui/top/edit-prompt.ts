import { completeCommand } from './command-line.ts';
import type { Prompt, TopState } from './model.ts';

const MAX_LENGTH = 2000;

/** A line of input after a key: changed, entered or closed. */
export function editPrompt(prompt: Prompt, key: string, runs: TopState['runs']): Prompt | 'entered' | 'closed' {
  const { kind, text } = prompt;
  switch (key) {
    case 'enter':
      return 'entered';
    case 'escape':
      return 'closed';
    case 'backspace':
      return text === '' ? 'closed' : { ...prompt, text: Array.from(text).slice(0, -1).join('') };
    case 'ctrl-u':
      return { ...prompt, text: '' };
    case 'ctrl-w':
      return { ...prompt, text: text.replace(/\S*\s*$/, '') };
    case 'tab':
    case 'right':
      return kind === 'command' ? { ...prompt, text: complete(text, runs) } : prompt;
    case 'space':
      return { ...prompt, text: `${text} ` };
    default:
      // Other keys have names of several characters.
      return Array.from(key).length === 1 && text.length < MAX_LENGTH ? { ...prompt, text: text + key } : prompt;
  }
}

/** Pasted text is one line and must not press keys. */
export function paste(prompt: Prompt, text: string): Prompt {
  const room = MAX_LENGTH - prompt.text.length;
  return { ...prompt, text: prompt.text + text.slice(0, Math.max(0, room)).replace(/\p{Cc}/gu, ' ') };
}

/** The only continuation, or what all of them begin with; the next one if the text is already complete. */
function complete(text: string, runs: TopState['runs']): string {
  const found = completeCommand(text, runs);
  const [first] = found;
  if (first === undefined) return text;
  if (found.length === 1) return first;
  let common = first;
  for (const each of found) while (!each.startsWith(common)) common = common.slice(0, -1);
  return common.length > text.length ? common : first;
}
