import { replaceHidden, formatCodePoint, hasHidden } from './hidden-characters.ts';

/** ANSI colors, cursor movements and character sets. Limited to short numeric parameters, so that no other text is removed. */
const STYLING = /\u001b(?:\[\??[0-9;:]{0,40}[A-Za-z]|\([AB0-2])/g;

/**
 * Makes untrusted text safe to print. Control and hidden characters are replaced with their code points, e.g. `<U+202E>`.
 * Line ends and tabs are kept.
 */
export function safeText(text: string): string {
  return replaceHidden(text, formatCodePoint);
}

/** Removes ANSI colors and cursor movements. */
export function stripStyling(text: string): string {
  return text.includes('\u001b') ? text.replace(STYLING, '') : text;
}

/** The same for program output: also removes colors and cursor movements, and converts line ends to newlines. */
export function safeOutput(text: string): string {
  return safeText(stripStyling(text).replace(/\r\n?/g, '\n'));
}

/** Formats a value as JSON on one line with hidden characters escaped. */
export function safeJson(value: unknown): string {
  return escapeJson(JSON.stringify(value));
}

/** Escapes hidden characters in a JSON text. */
export function escapeJson(json: string): string {
  return replaceHidden(json, (character) =>
    Array.from({ length: character.length }, (_, at) => {
      return `\\u${character.charCodeAt(at).toString(16).padStart(4, '0')}`;
    }).join(''),
  );
}

/** Makes text safe to print on one line of at most `maxLength` characters. */
export function safeLine(text: string, maxLength = 200): string {
  // Truncated first, because an untrusted line may be megabytes long.
  return truncate(safeText(text.slice(0, maxLength * 20).replace(/(?:\r\n|[ \t\n\p{Zs}])+/gu, ' ')).trim(), maxLength);
}

/** Truncates a line to `maxLength` characters, with an ellipsis. */
export function truncate(line: string, maxLength: number): string {
  if (line.length <= maxLength) return line;
  const characters = Array.from(line);
  return characters.length <= maxLength ? line : `${characters.slice(0, maxLength - 1).join('')}…`;
}

/** Quotes one shell argument for display; hidden characters are escaped in the syntax of bash and zsh. */
export function printableShellWord(text: string): string {
  if (/^[\w.@%+=:,/-]+$/.test(text)) return text;
  if (!hasHidden(text)) return `'${text.replaceAll("'", String.raw`'\''`)}'`;
  const spelled = text.replace(/[\\']|[^\p{L}\p{N}\p{P}\p{S} ]|\p{Default_Ignorable_Code_Point}/gu, (character) => {
    const code = character.codePointAt(0) ?? 0;
    return `\\U${code.toString(16).padStart(8, '0')}`;
  });
  return `$'${spelled}'`;
}

/** Finds the lines that contain a text, in upper or lower case. Returns their numbers, from 0. Ignores colors. */
export function findLines(lines: string, text: string): number[] {
  const wanted = text.toLowerCase();
  const plain = stripStyling(lines).toLowerCase();
  // Most parts of a long log do not contain it.
  if (!plain.includes(wanted)) return [];
  return plain.split('\n').flatMap((line, number) => (line.includes(wanted) ? [number] : []));
}
