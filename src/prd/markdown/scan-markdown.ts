import type { SourceLocation } from '../diagnostics.ts';
import { findCheckboxes, type Checkbox } from './checkboxes.ts';
import { hideComments } from './hide-comments.ts';
import type { Line, RawLine } from './line.ts';
import { buildOutline, type OutlineSection } from './outline.ts';
import { listSome } from '../../lib/text.ts';

export interface MarkdownDocument {
  format: 'markdown';
  text: string;
  lines: Line[];
  outline: OutlineSection[];
  /** The checkboxes that are stories, unless headings are. */
  boxes: Checkbox[];
  /** Sentences about ignored content. */
  ignored: string[];
  frontMatter: string;
}

/** Parses a Markdown file into lines, without front matter and HTML comments. */
export function scanMarkdown(text: string): MarkdownDocument {
  const { lines: raw, ignored, frontMatter } = hideComments(splitLines(text));
  const lines = raw.map(toLine);
  const outline = buildOutline(lines);
  return { format: 'markdown', text, lines, outline, boxes: findCheckboxes(outline), ignored, frontMatter };
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

/** A checkbox, with or without a space after it; `[x](…)`, `[x][…]` and `[x]: …` are links. */
const BOX = /^\[([ xX~\-/>!])\](?![([:])/;

function countColumns(space: string): number {
  return [...space].reduce((columns, character) => columns + (character === '\t' ? 4 : 1), 0);
}

/** Removes the closing `#` characters of a heading. */
function trimSigns(text: string): string {
  let end = text.trimEnd().length;
  while (end > 0 && text[end - 1] === '#') end--;
  const closed = end === 0 || /\s/.test(text[end - 1] ?? '');
  return (closed ? text.slice(0, end) : text).trim();
}

/** True for a horizontal rule: `---`, `* * *`. */
export function isRule(text: string): boolean {
  return /^[-*_\s]+$/.test(text) && text.replace(/\s/g, '').length >= 3 && new Set(text.replace(/\s/g, '')).size === 1;
}

/** The location of a story, for messages. */
export function placeOf({ number, offset }: Line): SourceLocation {
  return { where: `the story of line ${number}`, offset };
}

const MAX_NAMED = 5;

/** Formats line numbers, for messages. */
export function linesOf(lines: Line[]): string {
  const numbers = lines.map(({ number }) => number);
  return `line ${listSome(numbers, MAX_NAMED)}`;
}
