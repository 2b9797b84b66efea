import { isCriteriaLine } from '../labels.ts';
import { readHeading, type StoryHeading } from './heading.ts';
import { findWithoutCriteria, isTracked } from './headings-without-criteria.ts';
import type { Line } from '../line.ts';
import { ancestorsOf, type OutlineSection } from '../outline.ts';
import type { MarkdownDocument } from '../scan-markdown.ts';

/**
 * Finds the headings that are stories: those with an id and an "Acceptance Criteria" line, and all others with the same
 * kind of id. If there are none and all checkboxes of the file are criteria: the headings with criteria. If there are no
 * criteria: see `findWithoutCriteria`.
 */
export function findStoryHeadings({ outline }: MarkdownDocument): StoryHeading[] {
  const headings = outline.flatMap((section): HeadingLine[] => {
    const { heading } = section;
    return heading === undefined ? [] : [{ ...readHeading(heading), heading, section }];
  });
  const named = withLines(
    headings.filter(({ id }) => id !== undefined),
    outline,
  );
  const kinds = new Set(named.filter(({ lines }) => lines.some(isCriteriaLine)).map((story) => kindOf(story)));
  if (kinds.size > 0)
    return withLines(
      named.filter((story) => kinds.has(kindOf(story))),
      outline,
    );
  const nameless = findNameless(headings, outline);
  if (nameless.length > 0) return withLines(nameless, outline);
  const possible = headings.filter((heading) => heading.id !== undefined || isTracked(heading));
  return withLines(findWithoutCriteria(withLines(possible, outline), { outline, kindOf }), outline);
}

type HeadingLine = Omit<StoryHeading, 'lines'>;

/** Finds headings without ids that have criteria, if nothing else in the file can be a story. */
function findNameless(headings: HeadingLine[], outline: OutlineSection[]): HeadingLine[] {
  const owners = new Set(outline.flatMap((section) => (section.lines.some(isCriteriaLine) ? [ownerOf(section)] : [])));
  for (const section of outline)
    if (section.heading !== undefined && isCriteriaLine(section.heading)) owners.add(ownerOf(section));
  const lines = linesByOwner(outline, owners);
  const boxes = outline.flatMap((section) => section.lines.filter(({ box }) => box !== undefined));
  const criteria = new Set([...lines.values()].flatMap(criteriaOf));
  if (boxes.length === 0 || !boxes.every((box) => criteria.has(box))) return [];
  return headings.filter(({ section }) => owners.has(section));
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

function withLines(stories: HeadingLine[], outline: OutlineSection[]): StoryHeading[] {
  const lines = linesByOwner(outline, new Set(stories.map(({ section }) => section)));
  return stories.map((story) => ({ ...story, lines: lines.get(story.section) ?? [] }));
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

/** Ids of the same kind have the same prefix and heading level. */
function kindOf({ id, heading }: HeadingLine): string {
  return `${heading.level} ${/^[^\d]*/.exec(id ?? '')?.[0] ?? ''}`;
}
