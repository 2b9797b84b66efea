import { findLeadingId } from './leading-id.ts';
import type { Line } from './line.ts';
import type { MarkdownDocument } from './scan.ts';
import { trackSections, type Section } from './sections.ts';

/** A heading that is a story, with the lines below it. */
export interface StoryHeading {
  heading: Line;
  id: string;
  title: string;
  lines: Line[];
  /** The headings above. */
  section: Section;
}

/**
 * The headings of a file that are stories: those with an id and an "Acceptance Criteria" line below them, and,
 * where there are such, all others whose ids are of the same make.
 */
export function findStoryHeadings({ lines }: MarkdownDocument): StoryHeading[] {
  const named = namedHeadings(lines);
  const kinds = new Set(named.filter((story) => story.lines.some(isCriteriaLine)).map(kindOf));
  return named.filter((story) => kinds.has(kindOf(story)));
}

/** `Acceptance Criteria:` as a line or heading of its own, in bold or not. */
export function isCriteriaLine({ kind, text }: Line): boolean {
  return kind !== 'blank' && /^[*_]{0,3}acceptance(?: criteria)?\s?:?[*_]{0,3}\s?:?$/i.test(text.trim());
}

/** Lines belong to the nearest heading with an id above them. */
function namedHeadings(lines: Line[]): StoryHeading[] {
  const stories: StoryHeading[] = [];
  const open: StoryHeading[] = [];
  const sections = trackSections();
  for (const line of lines) {
    if (line.kind === 'heading') {
      sections.enter(line);
      while ((open.at(-1)?.heading.level ?? 0) >= line.level) open.pop();
      const found = readHeading(line.text);
      if (found !== undefined) {
        const story = { ...found, heading: line, lines: [], section: sections.current().slice(1) };
        open.push(story);
        stories.push(story);
        continue;
      }
    }
    open.at(-1)?.lines.push(line);
  }
  return stories;
}

/** `US-001: title`, `Task 3 — T003`, `Story 4: title`. */
function readHeading(text: string): { id: string; title: string } | undefined {
  const plain = text.replace(/^[✅☑️✔️\s]+/u, '').replace(/[✅☑️✔️\s]+$/u, '');
  const leading = findLeadingId(plain);
  if (leading !== undefined) return { id: leading.id, title: leading.rest === '' ? leading.id : leading.rest };
  const label = /^((?:user story|story|task|feature|issue)\s\d{1,6}(?:\.\d{1,6}){0,3})\s?(?:[:.—–-]\s?|$)(.*)$/iu.exec(
    plain,
  );
  if (label === null) return undefined;
  const [, name = '', rest = ''] = label;
  const inner = findLeadingId(rest.trim());
  if (inner !== undefined) return { id: inner.id, title: inner.rest === '' ? name : inner.rest };
  return { id: name.toLowerCase().replace(/\s+/g, '-'), title: rest.trim() === '' ? name : rest.trim() };
}

/** Ids of one make have the same letters in front, on headings of the same level. */
function kindOf({ id, heading }: StoryHeading): string {
  return `${heading.level} ${/^[^\d]*/.exec(id)?.[0] ?? ''}`;
}
