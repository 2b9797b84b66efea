import { truncate } from '../../core/text/safe-text.ts';
import type { Remark } from '../diagnostics.ts';
import { parseStruckThrough, withoutStrike } from '../story/read-fields.ts';
import { statusOfWord } from '../story/read-status.ts';
import { formOf, isCriteriaLine, readLabels } from './labels.ts';
import { findLeadingId } from './leading-id.ts';
import { isDependencyName } from './markdown-dependencies.ts';
import {
  ancestorsOf,
  headingsOf,
  isBelowBox,
  splitSign,
  type HeadingSign,
  type Line,
  type OutlineSection,
} from './outline.ts';
import type { MarkdownDocument } from './blocks.ts';
import { isExample } from './sections.ts';

/**
 * Finds the headings that are stories: those with an id and an "Acceptance Criteria" line, and all others with the same
 * kind of id. If there are none and all checkboxes of the file are criteria: the headings with criteria. If there are no
 * criteria: see `findWithoutCriteria`.
 */
export function findStoryHeadings(document: MarkdownDocument): readonly StoryHeading[] {
  const known = KNOWN.get(document) ?? readOutline(document);
  KNOWN.set(document, known);
  return known;
}

/** A dialect is detected by its headings, and then reads them. */
const KNOWN = new WeakMap<MarkdownDocument, readonly StoryHeading[]>();

function readOutline({ outline }: MarkdownDocument): StoryHeading[] {
  const headings = outline.flatMap((section): HeadingLine[] => {
    const { heading } = section;
    return heading === undefined ? [] : [{ ...readHeading(heading), heading, section }];
  });
  const named = withLines(
    headings.filter(({ id }) => id !== undefined),
    outline,
  );
  const kinds = new Set(named.filter(({ lines }) => lines.some(hasCriteria)).map((story) => kindOf(story)));
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

/** True for a line that introduces criteria. One that is indented below a checkbox belongs to that. */
export function hasCriteria(line: Line): boolean {
  return isCriteriaLine(line) && !isBelowBox(line);
}

/** Finds headings without ids that have criteria, if nothing else in the file can be a story. */
function findNameless(headings: HeadingLine[], outline: OutlineSection[]): HeadingLine[] {
  const owners = new Set(outline.flatMap((section) => (section.lines.some(hasCriteria) ? [ownerOf(section)] : [])));
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
    if (hasCriteria(line)) within = true;
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

/** Names the headings in code and in lists that would be stories outside of them. */
export function warnOfHiddenHeadings({ lines, code }: MarkdownDocument, stories: readonly StoryHeading[]): Remark[] {
  const kinds = new Set(stories.map(kindOf));
  return lines.flatMap((line): Remark[] => {
    const [, signs = '', text = ''] =
      (line.kind === 'heading' ? null : /^[\s>]{0,200}(#{1,6})\s+(.*)$/.exec(line.raw)) ?? [];
    if (signs === '') return [];
    const heading: Line = { ...line, kind: 'heading', level: signs.length, text: text.trim() };
    const { id } = readHeading(heading);
    if (id === undefined || !kinds.has(kindOf({ id, heading }))) return [];
    const block = code.find(({ first, last }) => first <= line.number && line.number <= last);
    const where = block === undefined ? 'a quote or a list' : `the code block of lines ${block.first} to ${block.last}`;
    return [
      { text: `line ${line.number} looks like a story, but it is in ${where}: ${truncate(line.text.trim(), 60)}` },
    ];
  });
}

/** Ids of the same kind have the same prefix and heading level. */
function kindOf({ id, heading }: Pick<HeadingLine, 'id' | 'heading'>): string {
  return `${heading.level} ${/^[^\d]*/.exec(id ?? '')?.[0] ?? ''}`;
}

/** A heading that is, or may be, a story, with the lines below it. */
export interface StoryHeading {
  heading: Line;
  section: OutlineSection;
  /** Undefined: it has none. */
  id: string | undefined;
  title: string;
  /** True if it is struck through. */
  isDropped: boolean;
  /** The progress mark in the heading. */
  sign: HeadingSign | undefined;
  /** Its lines, including those of subheadings that are not stories. */
  lines: Line[];
}

/** Reads a heading as a story: `US-001: title`, `[x] Task 3 — T003`, `Story 4: title [DONE]`, `title`. */
export function readHeading(heading: Line): Pick<StoryHeading, 'id' | 'title' | 'isDropped' | 'sign'> {
  const { text, sign } = splitSign(heading);
  const { title, isDropped } = parseStruckThrough(text);
  const plain = withoutStrike(title);
  const found = readId(plain);
  if (found === undefined) return { id: undefined, title, isDropped, sign };
  const inner = parseStruckThrough(found.title);
  return { id: found.id, title: inner.title, isDropped: isDropped || plain !== title || inner.isDropped, sign };
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

/**
 * Finds the headings that are stories in a file without "Acceptance Criteria": those of one kind, if the checkboxes below
 * have no ids. Headings with an id like `US-001` need a status, dependencies, or half of all checkboxes. Other headings
 * (`1.`, `Login`) need a status or dependencies wherever they have checkboxes, and must have all of them. In a file without
 * checkboxes, several headings `Task 1: text` are enough.
 */
function findWithoutCriteria(
  candidates: StoryHeading[],
  { outline, kindOf }: { outline: OutlineSection[]; kindOf: (candidate: StoryHeading) => string },
): StoryHeading[] {
  const possible = candidates.filter(({ section }) => !section.isTitle && !isExample(headingsOf(section)));
  const all = outline.flatMap(({ lines }) => boxesOf(lines)).length;
  const byKind = new Map<string, StoryHeading[]>();
  for (const candidate of possible) {
    const kind = byKind.get(kindOf(candidate)) ?? [];
    byKind.set(kindOf(candidate), kind);
    kind.push(candidate);
  }
  const kinds = [...byKind.values()].filter((kind) => areStories(kind, all));
  // A heading above stories of another kind is their group.
  const groups = new Set(kinds.flat().flatMap(({ section }) => ancestorsOf(section).slice(1)));
  return kinds.filter((kind) => !kind.some(({ section }) => groups.has(section))).flat();
}

function areStories(kind: StoryHeading[], all: number): boolean {
  // A plan without checkboxes.
  if (all === 0 && kind.length > 1 && kind.every(({ id = '' }) => /^task-\d/.test(id))) return true;
  const boxes = kind.flatMap(({ lines }) => boxesOf(lines));
  if (boxes.length > 0 && boxes.filter(hasId).length * 2 >= boxes.length) return false;
  if (kind.every(({ id }) => id !== undefined && namesStory(id)))
    return kind.some(isTracked) || (boxes.length > 0 && boxes.length * 2 >= all);
  const owners = kind.filter(({ lines }) => boxesOf(lines).length > 0);
  return (
    owners.length > 0 &&
    boxes.length === all &&
    owners.every((owner) => isTracked(owner) && !namesGroup(owner.heading.text) && !isDivided(owner))
  );
}

/** True if the checkboxes of a heading are below several headings of their own: it is a group. */
function isDivided({ section, lines }: StoryHeading): boolean {
  if (boxesOf(section.lines).length > 0) return false;
  let heading: Line | undefined;
  const inner = new Set(
    lines.map((line) => {
      if (line.kind === 'heading') heading = line;
      return line.box === undefined ? undefined : heading;
    }),
  );
  inner.delete(undefined);
  return inner.size > 1;
}

function boxesOf(lines: Line[]): Line[] {
  return lines.filter(({ box }) => box !== undefined);
}

/** `AC-1` is the id of a criterion. */
function hasId({ text }: Line): boolean {
  const id = findLeadingId(text)?.id;
  return id !== undefined && !/^AC\b|^AC\d/i.test(id);
}

const GROUP_WORDS =
  'epic|ep|e|phase|ph|p|milestone|ms|m|sprint|sp|release|rel|r|version|ver|v|wave|week|w|day|d|stage|part|section|' +
  'sec|chapter|track|theme|quarter|q|h|goal|feature|adr|rfc';
const GROUP = new RegExp(`^\\W*(?:${GROUP_WORDS})(?:[\\s.-]{0,3}\\d|\\s?:)`, 'i');

function namesGroup(text: string): boolean {
  return GROUP.test(text);
}

/** True for ids like `US-001`, `T001`, `P0-1` and `#12`; false for numbers, and for ids like `EPIC-1` and `M1`. */
function namesStory(id: string): boolean {
  return /^[A-Za-z]{1,10}\d{1,3}-\d/.test(id) || (/^[#A-Za-z]/.test(id) && !namesGroup(id));
}

/** True if the heading has a mark, a known status word or dependencies. */
export function isTracked({ section, sign }: Pick<StoryHeading, 'section' | 'sign'>): boolean {
  return sign !== undefined || findTracking(section).length > 0;
}

/** Returns the labels above the checkboxes that only a story has: its status, with a known word, and its dependencies. */
function findTracking({ lines }: OutlineSection): string[] {
  const first = lines.findIndex(({ box }) => box !== undefined);
  const top = lines.slice(0, first < 0 ? undefined : first).filter(({ indent }) => indent === 0);
  const labels = top.flatMap(readLabels).filter(({ name, value }) => {
    const form = formOf(name);
    if (form === 'status' || form === 'state') return statusOfWord(value) !== undefined;
    return isDependencyName(form) && value !== '';
  });
  return labels.map(({ name }) => name);
}
