import type { Place } from '../findings.ts';
import { findBoxes, type Box } from './checkboxes.ts';
import { hideComments } from './hide-comments.ts';
import type { Line, RawLine } from './line.ts';
import { outlineOf, type OutlineSection } from './outline.ts';

export interface MarkdownDocument {
  format: 'markdown';
  text: string;
  lines: Line[];
  outline: OutlineSection[];
  /** The checkboxes that are stories where no headings are. */
  boxes: Box[];
  /** Sentences on what is not read. */
  ignored: string[];
  frontMatter: string;
}

/** Takes a Markdown file apart into lines. Front matter and HTML comments are left out. */
export function scanMarkdown(text: string): MarkdownDocument {
  const { lines: raw, ignored, frontMatter } = hideComments(splitLines(text));
  const lines = raw.map(toLine);
  const outline = outlineOf(lines);
  return { format: 'markdown', text, lines, outline, boxes: findBoxes(outline), ignored, frontMatter };
}

function splitLines(text: string): RawLine[] {
  const lines: RawLine[] = [];
  let offset = 0;
  for (const [index, line] of text.split('\n').entries()) {
    lines.push({ number: index + 1, text: line.endsWith('\r') ? line.slice(0, -1) : line, offset });
    offset += line.length + 1;
  }
  return lines;
}

function toLine({ number, text, offset, code }: RawLine): Line {
  const start = text.length - text.trimStart().length;
  const rest = text.trim();
  const line: Line = {
    kind: 'text',
    text: rest,
    raw: text.trimEnd(),
    number,
    offset,
    end: offset + start + rest.length,
    indent: countColumns(text.slice(0, start)),
    level: 0,
    box: undefined,
  };
  if (code === true) return { ...line, kind: 'code', text: line.raw };
  if (rest === '') return { ...line, kind: 'blank' };
  const heading = /^(#{1,6})(?:\s|$)/.exec(rest);
  if (heading !== null && line.indent < 4) {
    const level = heading[1]?.length ?? 1;
    return { ...line, kind: 'heading', level, text: trimSigns(rest.slice(level)) };
  }
  const bullet = /^(?:[-*+]|\d{1,9}[.)])(?:\s+|$)/.exec(rest);
  if (bullet === null || isRule(rest)) return line;
  const content = rest.slice(bullet[0].length);
  const box = BOX.exec(content);
  if (box === null) return { ...line, kind: 'item', text: content };
  const mark = { mark: box[1] ?? ' ', offset: offset + start + bullet[0].length + 1 };
  return { ...line, kind: 'item', text: content.slice(3).trim(), box: mark };
}

/** A box, also without a space behind it; `[x](…)`, `[x][…]` and `[x]: …` are links. */
const BOX = /^\[([ xX~\-/>!])\](?![([:])/;

function countColumns(space: string): number {
  return [...space].reduce((columns, character) => columns + (character === '\t' ? 4 : 1), 0);
}

/** A heading without the signs that may close it. */
function trimSigns(text: string): string {
  let end = text.trimEnd().length;
  while (end > 0 && text[end - 1] === '#') end--;
  const closed = end === 0 || /\s/.test(text[end - 1] ?? '');
  return (closed ? text.slice(0, end) : text).trim();
}

/** `---`, `* * *`: a line across the page. */
export function isRule(text: string): boolean {
  return /^[-*_\s]+$/.test(text) && text.replace(/\s/g, '').length >= 3 && new Set(text.replace(/\s/g, '')).size === 1;
}

/** Where a story stands, for messages. */
export function placeOf({ number, offset }: Line): Place {
  return { where: `the story of line ${number}`, offset };
}

const MOST_NAMED = 5;

/** Where lines are, for messages. */
export function linesOf(lines: Line[]): string {
  const more = lines.length > MOST_NAMED ? ` and ${lines.length - MOST_NAMED} more` : '';
  const numbers = lines.slice(0, MOST_NAMED).map(({ number }) => number);
  return `line ${numbers.join(', ')}${more}`;
}
