import { safeLine } from '../../core/text/safe-text.ts';
import { priorityOf } from './sections.ts';

/** An item of a list, as a story. Lower priorities are more urgent. */
export interface ListedStory {
  title: string;
  priority: number;
  done: boolean;
}

const ITEM = /^\s*(?:[-*+•]|\d{1,4}[.)])\s+(?:\[([ xX])\]\s+)?(.+)$/;
const HEADING = /^(#{1,6})\s+(.+?)\s*#*$/;
const FENCE = /^\s*(?:```|~~~)/;
/** The words by which hank orders tasks. */
const URGENT = /\b(?:critical|urgent|blockers?|blocking|security|must)\b/i;
const OPTIONAL = /\b(?:optional|nice[ -]to[ -]have|someday|later|maybe|low priority)\b/i;
const [HIGH, MEDIUM, LOW] = [1, 2, 3];
const MAX_TITLE = 500;

/**
 * Reads each item of the lists of a text as a story, in the order of the file: bullets, numbered items and checkboxes or, if
 * there are none, each line that is not a heading. The priority is that of the headings, or follows from words such as
 * "critical" and "optional". Code blocks and comments are left out. Pure.
 */
export function listToStories(text: string): ListedStory[] {
  const lines = withoutCode(withoutComments(text).split(/\r?\n/));
  const hasItems = lines.some((line) => ITEM.test(line));
  const headings: { level: number; text: string }[] = [];
  const stories: ListedStory[] = [];
  for (const line of lines) {
    const [, marks = '', heading] = HEADING.exec(line) ?? [];
    if (heading !== undefined) {
      while ((headings.at(-1)?.level ?? 0) >= marks.length) headings.pop();
      headings.push({ level: marks.length, text: heading });
      continue;
    }
    const [, box, item] = ITEM.exec(line) ?? [];
    const title = safeLine((hasItems ? item : line)?.trim() ?? '', MAX_TITLE);
    if (title === '') continue;
    const ranked = priorityOf(headings.map((each) => each.text).reverse());
    stories.push({ title, priority: ranked ?? priorityOfWords(title), done: box?.toLowerCase() === 'x' });
  }
  return stories;
}

function priorityOfWords(title: string): number {
  if (URGENT.test(title)) return HIGH;
  return OPTIONAL.test(title) ? LOW : MEDIUM;
}

/** A comment without an end reaches to the end of the text. */
function withoutComments(text: string): string {
  const [first = '', ...rest] = text.split('<!--');
  return [first, ...rest.map((part) => part.split('-->').slice(1).join('-->'))].join('');
}

function withoutCode(lines: readonly string[]): string[] {
  let isCode = false;
  return lines.filter((line) => {
    const isFence = FENCE.test(line);
    if (isFence) isCode = !isCode;
    return !isCode && !isFence;
  });
}
