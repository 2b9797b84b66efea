import { replaceHidden, spell } from './text/hidden-characters.ts';

/** Colors and cursor movements. Their parameters are short, so that nothing but numbers goes with them. */
const STYLING = /\u001b\[\??[0-9;:]{0,40}[A-Za-z]/g;

/**
 * Text of unknown origin, made safe to print. Nothing is left out: what a terminal would obey, or a person would not
 * see, is spelled, for example `<U+202E>`. Line ends and tabs stay.
 */
export function safeText(text: string): string {
  return replaceHidden(text, spell);
}

/** The same for what programs print: their colors and cursor movements are left out, and every line end is a newline. */
export function safeOutput(text: string): string {
  return safeText(text.replace(STYLING, '').replace(/\r\n?/g, '\n'));
}

/** A value as JSON on one line in which hidden characters are escaped: it means the same, and can be printed. */
export function safeJson(value: unknown): string {
  return escapeJson(JSON.stringify(value));
}

/** The same for a text that is JSON already. */
export function escapeJson(json: string): string {
  return replaceHidden(json, (character) =>
    Array.from({ length: character.length }, (_, at) => {
      return `\\u${character.charCodeAt(at).toString(16).padStart(4, '0')}`;
    }).join(''),
  );
}

/** Safe text on one line, with at most `most` characters; what is cut off shows as an ellipsis. */
export function safeLine(text: string, most = 200): string {
  // Cut before the work: a hostile line may be megabytes long.
  return clip(safeText(text.slice(0, most * 20).replace(/(?:\r\n|[ \t\n\p{Zs}])+/gu, ' ')).trim(), most);
}

/** At most `most` characters of a line; what is cut off shows as an ellipsis. */
export function clip(line: string, most: number): string {
  if (line.length <= most) return line;
  const characters = Array.from(line);
  return characters.length <= most ? line : `${characters.slice(0, most - 1).join('')}…`;
}
