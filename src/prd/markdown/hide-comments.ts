import type { RawLine } from './line.ts';

/**
 * Leaves out front matter and fenced code, and blanks HTML comments, so that offsets stay as they are.
 * What is never closed hides the rest of the file, which is said.
 */
export function hideComments(lines: RawLine[]): { lines: RawLine[]; ignored: string[] } {
  const first = skipFrontMatter(lines);
  const shown: RawLine[] = [];
  let fence: { sign: string; line: number } | undefined;
  let comment: number | undefined;
  for (const [index, line] of lines.entries()) {
    if (index < first) continue;
    if (fence !== undefined) {
      if (closes(line.text, fence.sign)) fence = undefined;
      continue;
    }
    const visible = blankComments(line.text, comment !== undefined);
    comment = visible.open ? (comment ?? index + 1) : undefined;
    const sign = /^\s*(?:(?:[-*+]|\d{1,9}[.)])\s+)?(`{3,}|~{3,})/.exec(visible.text)?.[1];
    if (sign !== undefined && !isInlineCode(visible.text, sign)) fence = { sign, line: index + 1 };
    else shown.push({ ...line, text: visible.text });
  }
  return { lines: shown, ignored: [...unclosed('code fence', fence?.line), ...unclosed('HTML comment', comment)] };
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

/** A line with spaces for its comments. `open`: a comment goes on behind it. */
function blankComments(text: string, within: boolean): { text: string; open: boolean } {
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
  return { text: shown, open };
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

function unclosed(what: string, line: number | undefined): string[] {
  return line === undefined ? [] : [`the ${what} of line ${line} is never closed, so nothing below it is read`];
}
