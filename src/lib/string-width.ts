// Own code instead of the packages string-width, slice-ansi and wrap-ansi: they segment the whole text in advance, so a long
// line from an agent blocks the process, and they load their tables even for ASCII.

import { stripVTControlCharacters } from 'node:util';
import { eastAsianWidth } from 'get-east-asian-width';

/**
 * Characters of one column each: ASCII, Latin letters, dashes and dots, arrows, lines, checks, braille. Other text needs
 * Unicode tables, whose loading takes half as long as starting Node.
 */
const NARROW = /^[ -~\xa1-\xac\xae-\u02ff\u2010-\u2027\u2190-\u21ff\u2500-\u257f\u2713\u2717\u2800-\u28ff]*$/;

/** Terminal columns of a line, without ANSI escape sequences. */
export function stringWidth(line: string): number {
  if (NARROW.test(line)) return line.length;
  const text = stripVTControlCharacters(line);
  if (NARROW.test(text)) return text.length;
  return [...graphemesOf(text)].reduce((sum, character) => sum + characterWidth(character), 0);
}

interface Unicode {
  graphemes: Intl.Segmenter;
  visible: RegExp;
  emoji: RegExp;
  /** Code points that take columns of their own within a grapheme: vowel signs, half-width voiced marks. */
  spacing: RegExp;
}

let unicode: Unicode | undefined;

function loadUnicode(): Unicode {
  return (unicode ??= {
    graphemes: new Intl.Segmenter(undefined, { granularity: 'grapheme' }),
    visible: /[^\p{Default_Ignorable_Code_Point}\p{Cc}\p{Cf}\p{Cs}\p{Mn}\p{Me}]/u,
    emoji: new RegExp(String.raw`^\p{RGI_Emoji}|\u200d\p{RGI_Emoji}|^[\d#*]\u20e3`, 'v'),
    spacing: /[\p{Mc}\uff9e\uff9f]/gu,
  });
}

/** The graphemes of a text. Lazy: callers that need only the start of a long line do not segment the rest. */
function* graphemesOf(text: string): Generator<string> {
  for (const { segment } of loadUnicode().graphemes.segment(text)) yield segment;
}

/** Whether a line has at most `width` columns. */
function fitsInto(line: string, width: number): boolean {
  if (NARROW.test(line)) return line.length <= width;
  let left = width;
  for (const character of graphemesOf(stripVTControlCharacters(line))) {
    left -= characterWidth(character);
    if (left < 0) return false;
  }
  return true;
}

function characterWidth(character: string): number {
  const { visible, emoji, spacing } = loadUnicode();
  const first = character.search(visible);
  if (first === -1) return 0;
  if (emoji.test(character)) return 2;
  const rest = character.slice(first + 1);
  return eastAsianWidth(character.codePointAt(first) ?? 0) + (rest.match(spacing)?.length ?? 0);
}

/** Truncates a line to `width` columns at a grapheme boundary, with an ellipsis. */
export function truncateToWidth(line: string, width: number): string {
  if (fitsInto(line, width)) return line;
  if (width < 1) return '';
  let kept = '';
  let used = 0;
  for (const segment of graphemesOf(line)) {
    const next = stringWidth(segment);
    if (used + next > width - 1) break;
    kept += segment;
    used += next;
  }
  return `${kept}…`;
}

/** Truncates the start of a line to `width` columns, e.g. of a path whose end is significant. */
export function truncateStartToWidth(line: string, width: number): string {
  if (stringWidth(line) <= width) return line;
  let kept = '';
  let used = 0;
  for (const segment of [...graphemesOf(line)].reverse()) {
    const next = stringWidth(segment);
    if (used + next > width - 1) break;
    kept = segment + kept;
    used += next;
  }
  return width < 1 ? '' : `…${kept}`;
}

/** Truncates or pads a line to exactly `width` columns. */
export function padToWidth(line: string, width: number): string {
  const cut = truncateToWidth(line, width);
  return cut + ' '.repeat(Math.max(0, width - stringWidth(cut)));
}

/** Wraps words into lines of at most `width` columns; a longer word gets a line of its own. */
export function wrapWords(text: string, width: number): string[] {
  const lines: string[] = [];
  let line = '';
  for (const word of text.split(/\s+/).filter((each) => each !== '')) {
    const longer = line === '' ? word : `${line} ${word}`;
    if (line === '' || stringWidth(longer) <= width) line = longer;
    else {
      lines.push(line);
      line = word;
    }
  }
  return line === '' ? lines : [...lines, line];
}

/** Wraps a line at spaces to `width` columns. Each line keeps the indentation; longer words are split. */
export function wrapIndented(line: string, width: number): string[] {
  if (fitsInto(line, width)) return [line];
  const indent = /^ */.exec(line)?.[0] ?? '';
  const room = width - indent.length;
  if (room < 2) return [truncateToWidth(line, width)];
  const lines: string[] = [];
  let current = '';
  let used = 0;
  for (const word of line.slice(indent.length).match(/\S+\s*/g) ?? []) {
    const text = word.trimEnd();
    const columns = stringWidth(text);
    if (current !== '' && used + columns > room) {
      lines.push(current);
      current = '';
    }
    const pieces = columns > room ? splitToWidth(text, room) : [text];
    const last = `${pieces.pop() ?? ''}${word.slice(text.length)}`;
    lines.push(...pieces);
    used = (current === '' ? 0 : used) + stringWidth(last);
    current += last;
  }
  return [...lines, current].map((each) => (indent + each).trimEnd());
}

/** Splits a word into pieces of at most `width` columns, at least 2. */
function splitToWidth(word: string, width: number): string[] {
  const pieces: string[] = [];
  let piece = '';
  let used = 0;
  for (const character of graphemesOf(word)) {
    const columns = characterWidth(character);
    // One character with many vowel signs may be wider than the terminal.
    for (const part of columns > width ? Array.from(character) : [character]) {
      const next = part === character ? columns : characterWidth(part);
      if (used + next > width) {
        pieces.push(piece);
        piece = '';
        used = 0;
      }
      piece += part;
      used += next;
    }
  }
  return [...pieces, piece];
}
