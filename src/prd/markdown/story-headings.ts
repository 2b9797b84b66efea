import { parseStruckThrough } from '../story/read-texts.ts';
import { isCriteriaLine } from './labels.ts';
import { findLeadingId } from './leading-id.ts';
import type { Line } from './line.ts';
import { ancestorsOf, type OutlineSection } from './outline.ts';
import type { MarkdownDocument } from './scan-markdown.ts';

/** A heading that is a story, with the lines below it. */
export interface StoryHeading {
  heading: Line;
  section: OutlineSection;
  /** Undefined: it has none. */
  id: string | undefined;
  title: string;
  /** True if it is struck through. */
  isDropped: boolean;
  /** Its lines, including those of subheadings that are not stories. */
  lines: Line[];
}

/**
 * Finds the headings that are stories: those with an id and an "Acceptance Criteria" line, and all others with the same
 * kind of id. If there are none and all checkboxes of the file are criteria: the headings with criteria.
 */
export function findStoryHeadings({ outline }: MarkdownDocument): StoryHeading[] {
  const named = outline.flatMap((section) => {
    const found = section.heading === undefined ? undefined : readHeading(section.heading.text);
    return found === undefined || section.heading === undefined
      ? []
      : [{ ...found, heading: section.heading, section }];
  });
  const withCriteria = linesByOwner(outline, new Set(named.map(({ section }) => section)));
  const kinds = new Set(
    named.filter(({ section }) => withCriteria.get(section)?.some(isCriteriaLine)).map((story) => kindOf(story)),
  );
  const stories = kinds.size > 0 ? named.filter((story) => kinds.has(kindOf(story))) : findNameless(outline);
  const lines = linesByOwner(outline, new Set(stories.map(({ section }) => section)));
  return stories.map((story) => ({ ...story, lines: lines.get(story.section) ?? [] }));
}

type Found = Omit<StoryHeading, 'lines'>;

/** Finds headings without ids that have criteria, if nothing else in the file can be a story. */
function findNameless(outline: OutlineSection[]): Found[] {
  const owners = new Set(outline.flatMap((section) => (section.lines.some(isCriteriaLine) ? [ownerOf(section)] : [])));
  for (const section of outline)
    if (section.heading !== undefined && isCriteriaLine(section.heading)) owners.add(ownerOf(section));
  const lines = linesByOwner(outline, owners);
  const boxes = outline.flatMap((section) => section.lines.filter(({ box }) => box !== undefined));
  const criteria = new Set([...lines.values()].flatMap(criteriaOf));
  if (boxes.length === 0 || !boxes.every((box) => criteria.has(box))) return [];
  return [...owners].flatMap((section) => {
    const { heading } = section ?? {};
    if (section === undefined || heading === undefined) return [];
    return [{ heading, section, id: undefined, ...parseStruckThrough(withoutSigns(heading.text)) }];
  });
}

/** The section that criteria belong to: for a heading "Criteria" the enclosing one, unless that is the whole file. */
function ownerOf(section: OutlineSection): OutlineSection | undefined {
  if (section.heading === undefined) return undefined;
  if (!isCriteriaLine(section.heading)) return section;
  return section.parent === undefined || section.parent.isTitle ? undefined : ownerOf(section.parent);
}

/** Returns the items below a line like "Criteria:", up to a heading or a paragraph. */
function criteriaOf(lines: Line[]): Line[] {
  let within = false;
  return lines.filter((line) => {
    if (isCriteriaLine(line)) within = true;
    else if (line.kind === 'heading' || (line.kind === 'text' && line.indent === 0)) within = false;
    return within && line.kind === 'item';
  });
}

/** Collects the lines of each owner section, including those of nested sections that are not owners. */
function linesByOwner(
  outline: OutlineSection[],
  owners: ReadonlySet<OutlineSection | undefined>,
): Map<OutlineSection | undefined, Line[]> {
  const lines = new Map<OutlineSection | undefined, Line[]>();
  for (const section of outline) {
    const owner = ancestorsOf(section).find((each) => owners.has(each));
    if (owner === undefined) continue;
    const all = lines.get(owner) ?? [];
    lines.set(owner, all);
    if (section !== owner && section.heading !== undefined) all.push(section.heading);
    for (const line of section.lines) all.push(line);
  }
  return lines;
}

/** `US-001: title`, `Task 3 — T003`, `Story 4: title`. */
function readHeading(text: string): { id: string; title: string; isDropped: boolean } | undefined {
  const { title: plain, isDropped } = parseStruckThrough(withoutSigns(text));
  const found = readId(plain);
  if (found === undefined) return undefined;
  const inner = parseStruckThrough(found.title);
  return { id: found.id, title: inner.title, isDropped: isDropped || inner.isDropped };
}

function readId(plain: string): { id: string; title: string } | undefined {
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

/** Strips progress marks from a title. */
function withoutSigns(text: string): string {
  return text.replace(/^[✅☑️✔️\s]+/u, '').replace(/(?<![✅☑️✔️\s])[✅☑️✔️\s]+$/u, '');
}

/** Ids of the same kind have the same prefix and heading level. */
function kindOf({ id, heading }: Found): string {
  return `${heading.level} ${/^[^\d]*/.exec(id ?? '')?.[0] ?? ''}`;
}
