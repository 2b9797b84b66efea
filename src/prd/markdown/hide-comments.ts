import type { RawLine } from './line.ts';

export interface Shown {
  lines: RawLine[];
  /** Sentences on what is not read. */
  ignored: string[];
  /** The text between the rules at the top. */
  frontMatter: string;
}

const MOST_NAMED = 5;

/**
 * Takes front matter off, tells fenced code, and blanks HTML comments, so that offsets stay as they are. That comments
 * are there is said, and so is what is never closed and hides the rest of the file.
 */
export function hideComments(lines: RawLine[]): Shown {
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
      ...unclosed('code fence', fence?.line, 'what is below it is read as code'),
      ...unclosed('HTML comment', comment, 'nothing below it is read'),
      ...tellOfComments(comment === undefined ? comments : comments.slice(0, -1)),
    ],
    frontMatter: lines
      .slice(1, Math.max(1, first - 1))
      .map(({ text }) => text)
      .join('\n'),
  };
}

function tellOfComments(comments: number[]): string[] {
  if (comments.length === 0) return [];
  const more = comments.length > MOST_NAMED ? ` and ${comments.length - MOST_NAMED} more` : '';
  return [`HTML comments are not read: line ${comments.slice(0, MOST_NAMED).join(', ')}${more}`];
}

/** The number of lines that front matter takes. */
function skipFrontMatter(lines: RawLine[]): number {
  if (lines[0]?.text.trimEnd() !== '---') return 0;
  return lines.findIndex(({ text }, index) => index > 0 && text.trimEnd() === '---') + 1;
}

function closes(text: string, sign: string): boolean {
  const signs = text.trim();
  return signs.length >= sign.length && signs === (sign[0] ?? '').repeat(signs.length);
}

/** Three backticks and more of them on the same line are code inside of a sentence. */
function isInlineCode(text: string, sign: string): boolean {
  return sign.startsWith('`') && text.slice(text.indexOf(sign) + sign.length).includes('`');
}

/** A line with spaces for its comments. `open`: a comment goes on behind it; `hides`: something is in a comment. */
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
    const start = findComment(text, at);
    shown += text.slice(at, start);
    at = start;
    open = start < text.length;
  }
  return { text: shown, open, hides: shown !== text };
}

/** Where the next comment begins that is not code; the length of the text when there is none. */
function findComment(text: string, from: number): number {
  let inCode = false;
  for (let at = from; at < text.length; at++) {
    if (text[at] === '`') inCode = !inCode && text.includes('`', at + 1);
    else if (!inCode && text.startsWith('<!--', at)) return at;
  }
  return text.length;
}

function unclosed(what: string, line: number | undefined, effect: string): string[] {
  return line === undefined ? [] : [`the ${what} of line ${line} is never closed, so ${effect}`];
}
