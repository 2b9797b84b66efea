import type { RawLine } from './line.ts';
import { listSome } from '../../lib/text.ts';

export interface VisibleLines {
  lines: RawLine[];
  /** Sentences about ignored content. */
  ignored: string[];
  /** The text between the `---` lines at the top. */
  frontMatter: string;
}

const MAX_NAMED = 5;

/**
 * Removes front matter, marks fenced code, and replaces HTML comments with spaces, so offsets stay valid. Reports comments
 * and unclosed comments and fences, which hide the remainder of the file.
 */
export function hideComments(lines: RawLine[]): VisibleLines {
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
