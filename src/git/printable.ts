import { replaceHidden, spell } from '../core/text/hidden-characters.ts';

/** Text of unknown origin for a message, on one line: hidden characters spelled, at most `max` characters. */
export function printable(text: string, max = 200): string {
  const spelled = replaceHidden(text.replace(/[\t\n\r]/g, spell), spell);
  return spelled.length <= max ? spelled : `${spelled.slice(0, max)}…`;
}
