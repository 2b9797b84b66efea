import { listSome } from '../../lib/text.ts';
import type { SourceLocation } from '../diagnostics.ts';
import { findCheckboxes, type Checkbox } from './checkboxes.ts';
import { buildOutline, type Line, type OutlineSection, type RawLine } from './outline.ts';

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

interface VisibleLines {
  lines: RawLine[];
  /** Sentences about ignored content. */
  ignored: string[];
  /** The text between the `---` lines at the top. */
  frontMatter: string;
}

/**
 * Removes front matter, marks fenced code, and replaces HTML comments with spaces, so offsets stay valid. Reports comments
 * and unclosed comments and fences, which hide the remainder of the file.
 */
function hideComments(lines: RawLine[]): VisibleLines {
  const first = skipFrontMatter(lines);
  const shown: RawLine[] = [];
  const comments: number[] = [];
  let fence: { sign: string; line: number } | undefined;
  let comment: number | undefined;
  for (const [index, line] of lines.entries()) {
    if (index < first) continue;
    if (fence !== undefined) {
      shown.push({ ...line, code: true });
      if (closes(line.text, fence.sign)) fence = undefined;
      continue;
    }
    const visible = blankComments(line.text, comment !== undefined);
    if (visible.hides && comment === undefined) comments.push(index + 1);
    comment = visible.open ? (comment ?? index + 1) : undefined;
    const sign = /^\s*(?:(?:[-*+]|\d{1,9}[.)])\s+)?(`{3,}|~{3,})/.exec(visible.text)?.[1];
    const opens = sign !== undefined && !isInlineCode(visible.text, sign);
    if (opens) fence = { sign, line: index + 1 };
    shown.push({ ...line, text: visible.text, ...(opens ? { code: true } : {}) });
  }
  return {
    lines: shown,
    ignored: [
      ...unclosed('code fence', fence?.line, 'everything below it is code'),
      ...unclosed('HTML comment', comment, 'everything below it is ignored'),
      ...warnOfComments(comment === undefined ? comments : comments.slice(0, -1)),
    ],
    frontMatter: lines
      .slice(1, Math.max(1, first - 1))
      .map(({ text }) => text)
      .join('\n'),
  };
}

function warnOfComments(comments: number[]): string[] {
  if (comments.length === 0) return [];
  return [`HTML comments are ignored: line ${listSome(comments, MAX_NAMED)}`];
}

/** Number of front matter lines. */
function skipFrontMatter(lines: RawLine[]): number {
  if (lines[0]?.text.trimEnd() !== '---') return 0;
  return lines.findIndex(({ text }, index) => index > 0 && text.trimEnd() === '---') + 1;
}

function closes(text: string, sign: string): boolean {
  const signs = text.trim();
  return signs.length >= sign.length && signs === (sign[0] ?? '').repeat(signs.length);
}

/** True if the line contains closing backticks, so it is inline code rather than a fence. */
function isInlineCode(text: string, sign: string): boolean {
  return sign.startsWith('`') && text.slice(text.indexOf(sign) + sign.length).includes('`');
}

/** Replaces comments in a line with spaces. `open`: a comment continues on the next line; `hides`: a comment was found. */
function blankComments(text: string, within: boolean): { text: string; open: boolean; hides: boolean } {
  let open = within;
  let at = 0;
  let shown = '';
  while (at < text.length) {
    if (open) {
      const end = text.indexOf('-->', at);
      const next = end < 0 ? text.length : end + 3;
      shown += ' '.repeat(next - at);
      at = next;
      open = end < 0;
      continue;
    }
    const start = locateComment(text, at);
    shown += text.slice(at, start);
    at = start;
    open = start < text.length;
  }
  return { text: shown, open, hides: shown !== text };
}

/** Offset of the next comment outside of inline code; the length of the text if there is none. */
function locateComment(text: string, from: number): number {
  let inCode = false;
  for (let at = from; at < text.length; at++) {
    if (text[at] === '`') inCode = !inCode && text.includes('`', at + 1);
    else if (!inCode && text.startsWith('<!--', at)) return at;
  }
  return text.length;
}

function unclosed(what: string, line: number | undefined, effect: string): string[] {
  return line === undefined ? [] : [`the ${what} in line ${line} is never closed, so ${effect}`];
}
