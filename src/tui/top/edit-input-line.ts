import { completeCommand } from './command-line.ts';
import type { InputLine, TopState } from './model.ts';

/** More than any text may have: what is too long is refused, not cut unnoticed. */
const MAX_LENGTH = 10_000;

/** A line of input after a key: changed, entered or closed. */
export function editInputLine(
  inputLine: InputLine,
  key: string,
  runs: TopState['runs'],
): InputLine | 'entered' | 'closed' {
  const { kind, text } = inputLine;
  switch (key) {
    case 'enter':
      return 'entered';
    case 'escape':
      return 'closed';
    case 'backspace':
      return text === '' ? 'closed' : { ...inputLine, text: Array.from(text).slice(0, -1).join('') };
    case 'ctrl-u':
      return { ...inputLine, text: '' };
    case 'ctrl-w':
      return { ...inputLine, text: text.replace(/\S*\s*$/, '') };
    case 'tab':
    case 'right':
      return kind === 'command' ? { ...inputLine, text: complete(text, runs) } : inputLine;
    case 'space':
      return { ...inputLine, text: `${text} ` };
    default:
      // Other keys have names of several characters.
      return Array.from(key).length === 1 && text.length < MAX_LENGTH ? { ...inputLine, text: text + key } : inputLine;
  }
}

/** Pasted text is one line and must not press keys. */
export function paste(inputLine: InputLine, text: string): InputLine {
  const room = MAX_LENGTH - inputLine.text.length;
  return { ...inputLine, text: inputLine.text + text.slice(0, Math.max(0, room)).replace(/\p{Cc}/gu, ' ') };
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
