import { oneLine } from '../../lib/text.ts';

/** Formats texts as a Markdown list. */
export function bulletList(items: readonly string[]): string {
  return items.map((item) => `- ${item.trim().replaceAll('\n', '\n  ')}`).join('\n');
}

/** Quotes a name on one line. */
export function quoteName(text: string): string {
  return `"${text.replace(/\s+/g, ' ').trim()}"`;
}

/** A code span is delimited by more backticks than its text has in a row. */
export function codeSpan(text: string): string {
  const ticks = '`'.repeat(longestTicks(text) + 1);
  const pad = /^`|`$/.test(text) ? ' ' : '';
  return `${ticks}${pad}${joinLines(text)}${pad}${ticks}`;
}

/** A fence is delimited by more backticks than its text has in a row, so that the text cannot end it. */
export function fence(text: string): string {
  const ticks = '`'.repeat(Math.max(3, longestTicks(text) + 1));
  return `${ticks}\n${text}\n${ticks}`;
}

/** A text of a user as data below a heading. */
export function quoteDocument(heading: string, text: string): string {
  return `## ${oneLine(heading)}\n${fence(text.trimEnd())}`;
}

function joinLines(text: string): string {
  const lines = text.split('\n').map((line) => line.trim());
  return lines.filter((line) => line !== '').join(' ; ');
}

function longestTicks(text: string): number {
  return (text.match(/`+/g) ?? []).reduce((longest, run) => Math.max(longest, run.length), 0);
}
