import { isCriteriaLine, isCriteriaName, readLabels } from './labels.ts';
import { findLeadingId } from './leading-id.ts';
import type { Line } from './line.ts';
import { chainOf, type OutlineSection } from './outline.ts';

/** A checkbox that is not part of another one, with what stands below it. */
export interface Box {
  line: Line;
  mark: string;
  markOffset: number;
  /** Its text, with the lines that go on with it. */
  text: string;
  /** Paragraphs and code below it. */
  paragraphs: string[];
  /** Deeper boxes and bullets, and criteria that are written beside it. */
  below: string[];
  section: OutlineSection;
  /** All lines that belong to it. */
  lines: Line[];
}

/** The bullets that a line can belong to, from the outside in; those outside of any box belong to none. */
type Nesting = { indent: number; box: Box | undefined }[];

/**
 * The checkboxes of a file that are stories: those that are not inside of another one, in order. Those below a line like
 * "Criteria:" are criteria of the story above it, or of the section; where there are no others, they are the stories.
 */
export function findBoxes(outline: OutlineSection[]): Box[] {
  const boxes = outline.flatMap((section) => findInSection(section, true));
  return boxes.length > 0 ? boxes : outline.flatMap((section) => findInSection(section, false));
}

function findInSection(section: OutlineSection, hasCriteria: boolean): Box[] {
  const boxes: Box[] = [];
  const isCriteriaSection =
    hasCriteria && chainOf(section).some(({ heading }) => heading !== undefined && isCriteriaLine(heading));
  let criteria: Criteria | undefined = isCriteriaSection ? { owner: undefined, seen: 0, toEnd: true } : undefined;
  let nesting: Nesting = [];
  let before: Line['kind'] = 'blank';
  for (const line of section.lines) {
    if (criteria !== undefined && endsCriteria(criteria, line, before)) criteria = undefined;
    const isOutside = line.indent === 0 || nesting.at(-1)?.box === undefined;
    if (hasCriteria && !isCriteriaSection && isOutside && isCriteriaLine(line)) {
      criteria = openCriteria(line, boxes);
      nesting = [];
    } else if (criteria !== undefined) {
      takeCriterion(criteria, line, before);
    } else if (line.kind === 'item') {
      while ((nesting.at(-1)?.indent ?? -1) >= line.indent) nesting.pop();
      const owner = nesting.findLast(({ box }) => box !== undefined)?.box;
      const box = owner ?? toBox(line, section);
      if (owner !== undefined) owner.below.push(line.text);
      else if (box !== undefined) boxes.push(box);
      box?.lines.push(line);
      nesting.push({ indent: line.indent, box });
    } else if (line.kind === 'text' || line.kind === 'code') {
      if (before === 'blank' && line.indent === 0) nesting = [];
      continueBox(nesting.at(-1)?.box, line, before);
    }
    before = line.kind;
  }
  return boxes;
}

function toBox(line: Line, section: OutlineSection): Box | undefined {
  if (line.box === undefined) return undefined;
  const { mark, offset } = line.box;
  return { line, mark, markOffset: offset, text: line.text, paragraphs: [], below: [], section, lines: [] };
}

/** A line without a bullet goes on with what is above it; behind a blank line it is a paragraph of its own. */
function continueBox(box: Box | undefined, line: Line, before: Line['kind']): void {
  if (box === undefined) return;
  box.lines.push(line);
  const { text } = line;
  const last = box.below.length - 1;
  const isLabel = readLabels(line).length > 0 && (line.indent === 0 || last < 0);
  if (line.kind === 'code') addCode(box, text, before);
  else if (isLabel && isCriteriaLine(line)) box.below.push(...criteriaOn(line));
  else if (isLabel) box.paragraphs.push(text);
  else if (last >= 0) box.below[last] = `${box.below[last] ?? ''} ${text}`;
  else if (before === 'blank') box.paragraphs.push(text);
  else if (box.paragraphs.length > 0) box.paragraphs.push(`${box.paragraphs.pop() ?? ''}\n${text}`);
  else box.text = `${box.text} ${text}`;
}

function addCode(box: Box, text: string, before: Line['kind']): void {
  if (before === 'code') box.paragraphs.push(`${box.paragraphs.pop() ?? ''}\n${text}`);
  else box.paragraphs.push(text);
}

/** What stands below a line like "Criteria:". */
interface Criteria {
  /** The story that they are of; undefined: they are of the whole section. */
  owner: Box | undefined;
  /** How many there are so far. */
  seen: number;
  /** Whether all that follows in the section is criteria. */
  toEnd: boolean;
}

/** Criteria that follow one box are its own; those that follow several may be of all of them. */
function openCriteria(line: Line, boxes: Box[]): Criteria {
  const last = boxes.at(-1);
  const previous = boxes.at(-2);
  const isAlone = previous === undefined || previous.lines.some((each) => isCriteriaLine(each));
  const owner = isAlone ? last : undefined;
  owner?.lines.push(line);
  const values = criteriaOn(line);
  owner?.below.push(...values);
  return { owner, seen: values.length, toEnd: false };
}

/** A list ends at a blank line behind it; one of a story with an id goes on to the next id. */
function endsCriteria({ owner, seen, toEnd }: Criteria, line: Line, before: Line['kind']): boolean {
  if (toEnd || line.kind === 'blank' || line.indent > 0) return false;
  const isBelowId = owner !== undefined && findLeadingId(owner.text) !== undefined;
  if (isBelowId && line.box !== undefined) return findLeadingId(line.text) !== undefined;
  if (line.kind === 'item') return seen > 0 && before === 'blank';
  return seen > 0 || before === 'blank';
}

function takeCriterion(criteria: Criteria, line: Line, before: Line['kind']): void {
  const { owner } = criteria;
  if (line.kind === 'blank') return;
  if (line.kind === 'item') criteria.seen++;
  if (owner === undefined) return;
  owner.lines.push(line);
  const last = owner.below.length - 1;
  if (line.kind === 'item') owner.below.push(line.text);
  else if (line.kind === 'code') addCode(owner, line.text, before);
  else if (criteria.seen > 0 && last >= 0) owner.below[last] = `${owner.below[last] ?? ''} ${line.text}`;
  else owner.below.push(line.text);
}

function criteriaOn(line: Line): string[] {
  return readLabels(line).flatMap(({ name, value }) => {
    if (isCriteriaName(name)) return value === '' ? [] : [value];
    return [`${name}: ${value}`];
  });
}
