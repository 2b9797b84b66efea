import { isCriteriaLine, isCriteriaName, readLabels } from './labels.ts';
import { findLeadingId, type LeadingId } from './leading-id.ts';
import { ancestorsOf, type Line, type OutlineSection } from './outline.ts';

/** A top-level checkbox with its content. */
export interface Checkbox {
  line: Line;
  mark: string;
  /** Undefined: a bullet without a checkbox, as in the dialect hank. */
  markOffset: number | undefined;
  /** The id at its beginning, if the dialect has already found it. */
  leading?: LeadingId;
  /** Its text, including continuation lines. */
  text: string;
  /** Paragraphs and code below it. */
  paragraphs: string[];
  /** Nested checkboxes and bullets, and criteria lists that follow it. */
  below: string[];
  section: OutlineSection;
  /** All lines that belong to it. */
  lines: Line[];
}

/**
 * Finds the checkboxes that are stories: the top-level ones, in file order. Checkboxes below a line like "Criteria:" are
 * criteria of the preceding story or of the section; if there are no others, they are the stories.
 */
export function findCheckboxes(outline: OutlineSection[]): Checkbox[] {
  const boxes = outline.flatMap((section) => findInSection(section, true));
  return boxes.length > 0 ? boxes : outline.flatMap((section) => findInSection(section, false));
}

function findInSection(section: OutlineSection, hasCriteria: boolean): Checkbox[] {
  const boxes: Checkbox[] = [];
  const isCriteriaSection =
    hasCriteria && ancestorsOf(section).some(({ heading }) => heading !== undefined && isCriteriaLine(heading));
  let criteria: Criteria | undefined = isCriteriaSection
    ? { owner: undefined, seen: 0, indent: 0, isBelow: false, toEnd: true }
    : undefined;
  /** By the number of each of their items. */
  const owners = new Map<number, Checkbox>();
  let before: Line['kind'] = 'blank';
  for (const line of section.lines) {
    if (criteria !== undefined && endsCriteria(criteria, line, before)) criteria = undefined;
    const owner = owners.get(line.parent?.number ?? 0);
    const isOutside = line.indent === 0 || owner === undefined;
    if (hasCriteria && !isCriteriaSection && isOutside && isCriteriaLine(line)) {
      criteria = openCriteria(line, boxes);
    } else if (criteria !== undefined) {
      takeCriterion(criteria, line, before);
    } else if (line.kind === 'item') {
      const box = owner ?? toBox(line, section);
      if (owner !== undefined) owner.below.push(line.text);
      else if (box !== undefined) boxes.push(box);
      box?.lines.push(line);
      if (box !== undefined) owners.set(line.number, box);
    } else if (line.kind === 'text' || line.kind === 'code') {
      continueBox(owner, line, { before, isNested: line.parent?.number !== owner?.line.number });
    }
    before = line.kind;
  }
  return boxes;
}

function toBox(line: Line, section: OutlineSection): Checkbox | undefined {
  const mark = line.box?.mark ?? line.impliedMark;
  if (mark === undefined) return undefined;
  return { line, mark, markOffset: line.box?.offset, text: line.text, paragraphs: [], below: [], section, lines: [] };
}

/**
 * Adds a line without a bullet: it continues the previous text, or starts a paragraph after a blank line. `isNested`: it is
 * below a bullet of the checkbox, not below the checkbox itself.
 */
function continueBox(
  box: Checkbox | undefined,
  line: Line,
  { before, isNested }: { before: Line['kind']; isNested: boolean },
): void {
  if (box === undefined) return;
  box.lines.push(line);
  const { text } = line;
  const last = box.below.length - 1;
  const isLabel = readLabels(line).length > 0 && (line.indent === 0 || last < 0);
  if (line.kind === 'code') addCode(box, text, before);
  else if (isLabel && isCriteriaLine(line)) box.below.push(...criteriaOn(line));
  else if (isLabel) box.paragraphs.push(text);
  else if (last >= 0 && isNested) box.below[last] = `${box.below[last] ?? ''} ${text}`;
  else if (before === 'blank') box.paragraphs.push(text);
  else if (box.paragraphs.length > 0) box.paragraphs.push(`${box.paragraphs.pop() ?? ''}\n${text}`);
  else box.text = `${box.text} ${text}`;
}

function addCode(box: Checkbox, text: string, before: Line['kind']): void {
  if (before === 'code') box.paragraphs.push(`${box.paragraphs.pop() ?? ''}\n${text}`);
  else box.paragraphs.push(text);
}

/** The list below a line like "Criteria:". */
interface Criteria {
  /** Their story; undefined: they apply to the whole section. */
  owner: Checkbox | undefined;
  /** Number of criteria so far. */
  seen: number;
  /** Columns before the last criterion. */
  indent: number;
  /** True in a paragraph below the list. */
  isBelow: boolean;
  /** True if the list extends to the end of the section. */
  toEnd: boolean;
}

/** Criteria after a single checkbox belong to it; criteria after several may apply to all of them. */
function openCriteria(line: Line, boxes: Checkbox[]): Criteria {
  const last = boxes.at(-1);
  const previous = boxes.at(-2);
  const isAlone = previous === undefined || previous.lines.some((each) => isCriteriaLine(each));
  const owner = isAlone ? last : undefined;
  owner?.lines.push(line);
  const values = criteriaOn(line);
  owner?.below.push(...values);
  return { owner, seen: values.length, indent: 0, isBelow: false, toEnd: false };
}

/** A list ends at a blank line; the list of a story with an id ends at the next id. */
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
  if (line.kind === 'item') {
    criteria.seen++;
    criteria.indent = line.indent;
    criteria.isBelow = false;
  }
  if (owner === undefined) return;
  owner.lines.push(line);
  const last = owner.below.length - 1;
  if (line.kind === 'text' && before === 'blank' && criteria.seen > 0)
    criteria.isBelow = line.indent <= criteria.indent;
  if (criteria.isBelow && line.kind === 'text') addBelow(owner, line.text, before);
  else if (line.kind === 'item') owner.below.push(line.text);
  else if (line.kind === 'code') addCode(owner, line.text, before);
  else if (criteria.seen > 0 && last >= 0) owner.below[last] = `${owner.below[last] ?? ''} ${line.text}`;
  else owner.below.push(line.text);
}

/** Adds a line of a paragraph below the criteria. */
function addBelow(box: Checkbox, text: string, before: Line['kind']): void {
  if (before === 'blank') box.paragraphs.push(text);
  else box.paragraphs.push(`${box.paragraphs.pop() ?? ''}\n${text}`);
}

function criteriaOn(line: Line): string[] {
  return readLabels(line).flatMap(({ name, value }) => {
    if (isCriteriaName(name)) return value === '' ? [] : [value];
    return [`${name}: ${value}`];
  });
}
