const ESC = '\\u001b';

/** Escape sequences as a whole, so that their parameters do not stay behind as text. */
const SEQUENCES = new RegExp(
  [
    // OSC, DCS, SOS, PM and APC strings: up to their terminator, but never beyond the line.
    `(?:${ESC}[\\]PX^_]|[\\u009d\\u0090\\u0098\\u009e\\u009f])[^\\u0007${ESC}\\u009c\\n\\r]*(?:\\u0007|${ESC}\\\\|\\u009c)?`,
    `(?:${ESC}\\[|\\u009b)[\\u0020-\\u003f]*[\\u0040-\\u007e]?`,
    `${ESC}[\\u0020-\\u002f]*[\\u0030-\\u007e]?`,
  ].join('|'),
  'g',
);

/** Control, direction, invisible and tag characters; all that is left of C0 is newline and tab. */
const UNSAFE =
  /[\u0000-\u0008\u000b-\u001f\u007f-\u009f\u00ad\u061c\u200b\u200e\u200f\u202a-\u202e\u2060-\u2064\u2066-\u206f\ufeff\ufff9-\ufffb]|[\u{e0000}-\u{e0fff}]/gu;

/**
 * Text of unknown origin, made safe to print: no escape sequence, no control or direction character
 * survives. Newline and tab stay; other line ends become newlines.
 */
export function safeText(text: string): string {
  return removeUnsafe(text.replace(SEQUENCES, '').replace(/\r\n?|[\u0085\u2028\u2029]/g, '\n'));
}

/** Without single characters that are unsafe; what is left of an escape sequence stays as text. */
export function removeUnsafe(text: string): string {
  return text.replace(UNSAFE, '').replace(/\p{Surrogate}/gu, '\ufffd');
}

/** A value as JSON on one line in which unsafe characters are escaped: it means the same, and can be printed. */
export function safeJson(value: unknown): string {
  return JSON.stringify(value).replace(UNSAFE, (character) =>
    Array.from({ length: character.length }, (_, at) => {
      return `\\u${character.charCodeAt(at).toString(16).padStart(4, '0')}`;
    }).join(''),
  );
}

/** Safe text on one line, with at most `most` characters; what is cut off shows as an ellipsis. */
export function safeLine(text: string, most = 200): string {
  // Cut before the work: a hostile line may be megabytes long.
  return clip(
    safeText(text.slice(0, most * 20))
      .replace(/\s+/g, ' ')
      .trim(),
    most,
  );
}

/** At most `most` characters of a line; what is cut off shows as an ellipsis. */
export function clip(line: string, most: number): string {
  if (line.length <= most) return line;
  const characters = Array.from(line);
  return characters.length <= most ? line : `${characters.slice(0, most - 1).join('')}…`;
}
