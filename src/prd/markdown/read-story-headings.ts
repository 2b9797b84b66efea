import { FIELDS, TEXT_FIELD_NAMES, TEXT_FIELDS, type StoryTexts } from '../../core/prd/fields.ts';
import type { StoryStatus } from '../../core/prd/prd.ts';
import { defined } from '../../lib/guards.ts';
import { oneLine } from '../../lib/text.ts';
import { exceedsStoryLimit, type Diagnostics } from '../diagnostics.ts';
import type { Draft, DraftStory, ProgressMark } from '../dialect.ts';
import { addWarning } from '../json/object-reader.ts';
import { rankOfWord } from '../story/read-fields.ts';
import { isLifeCycleWord, leadOf, readStatusWord, saysMoreThanStatus, statusOfWord } from '../story/read-status.ts';
import { findIdProblem, makeIdsUnique, renameDoneDuplicates } from '../story/story-ids.ts';
import { formOf, isCriteriaLine, isCriteriaName, isCriterionLabel, readLabels } from './labels.ts';
import { slugOf } from './leading-id.ts';
import {
  isDependencyName,
  linkReferences,
  resolver,
  splitReferences,
  type DependencyReference,
} from './markdown-dependencies.ts';
import { groupOf, headingsOf, isBelowBox, type Label, type Line } from './outline.ts';
import { readSurroundings, textOfLines, warnOfProgress } from './read-surroundings.ts';
import { placeOf, remarkOn, remarkOnBoxes, type MarkdownDocument } from './blocks.ts';
import { priorityOf, warnIfSkipped } from './sections.ts';
import {
  findStoryHeadings,
  hasCriteria,
  isTracked,
  warnOfHiddenHeadings,
  type StoryHeading,
} from './story-headings.ts';

/** Reads a file whose headings are the stories and whose lists below "Acceptance Criteria" are their criteria. */
export function readStoryHeadings(document: MarkdownDocument, diagnostics: Diagnostics): Draft {
  const headings = findStoryHeadings(document);
  for (const remark of [...document.ignored, ...document.comments, ...warnOfHiddenHeadings(document, headings)])
    addWarning({ diagnostics }, undefined, remark);
  if (exceedsStoryLimit(headings.length, diagnostics)) return { project: '', description: '', stories: [], about: [] };
  const read = headings.map((story): Part => ({ ...story, parts: splitStory(story.lines) }));
  const sign = headings.map((heading) => heading.sign).find((each) => each?.kind === 'done')?.text;
  const drafts = makeIdsUnique(read.map((part) => ({ ...toDraft(part, diagnostics), mark: markOf(part, sign) })));
  const linking = { resolve: resolver(drafts), diagnostics };
  const linked = drafts.map((draft, index) => linkReferences(draft, read[index]?.parts.references ?? [], linking));
  warnOfOtherBoxes(document, { read, diagnostics });
  warnOfStates(read, diagnostics);
  warnOfGuess(read, diagnostics);
  const surroundings = readSurroundings(document, {
    sections: headings.map(({ section }) => section),
    used: new Set(headings.flatMap(({ lines }) => lines)),
    diagnostics,
  });
  const stories = renameDoneDuplicates(linked, diagnostics);
  warnOfProgress(document, stories, diagnostics);
  return { ...surroundings, stories };
}

interface Part extends StoryHeading {
  parts: StoryParts;
}

function toDraft(part: Part, diagnostics: Diagnostics): Omit<DraftStory, 'mark'> {
  const { heading, section, title, parts } = part;
  const at = placeOf(heading);
  const id = part.id ?? slugOf(title);
  const fault = findIdProblem(id);
  if (fault !== undefined) diagnostics.problems.push({ ...at, rule: `the id ${fault}` });
  const acceptance = parts.criteria.filter((each) => each !== '');
  if (acceptance.length === 0) addWarning({ diagnostics }, id, 'no acceptance criteria');
  // The agent gets the explanation.
  if (parts.status !== undefined && saysMoreThanStatus(parts.status.value))
    parts.extra.set('Status', parts.status.value);
  const headings = headingsOf(section).slice(section.isTitle ? 0 : 1);
  const group = groupOf(headings);
  const priority = readPriority(parts, id, diagnostics) ?? priorityOf(headings);
  return {
    id,
    ownId: part.id,
    title,
    description: parts.description,
    acceptance,
    priority,
    status: readStatus(part, id, diagnostics),
    ...parts.texts,
    dependsOn: [],
    extra: { ...defined({ group }), ...Object.fromEntries(parts.extra) },
    at,
  };
}

/** Ticked checkboxes and a mark in the heading take precedence over the status word. */
function readStatus({ sign, section, isDropped, parts }: Part, id: string, diagnostics: Diagnostics): StoryStatus {
  const { boxes, status: word } = parts;
  const isTicked = boxes.length > 0 && boxes.every(({ mark }) => mark.toLowerCase() === 'x');
  const isMarked = sign?.kind === 'done' || sign?.box.mark.toLowerCase() === 'x';
  const said = word === undefined ? undefined : readStatusWord(word.value, id, diagnostics);
  if (isTicked || isMarked) {
    if (said !== undefined && said !== 'done')
      addWarning(
        { diagnostics },
        id,
        `${isTicked ? 'the checkboxes are' : 'the mark of the heading is'} done but the status is not; treated as done`,
      );
    return 'done';
  }
  if (said === 'done') {
    if (boxes.length > 0)
      addWarning({ diagnostics }, id, 'the status is done but the checkboxes are not; treated as done');
    return 'done';
  }
  const headings = headingsOf(section).slice(section.isTitle ? 0 : 1);
  if (warnIfSkipped({ headings, isDropped }, id, diagnostics)) return 'skipped';
  return said ?? 'pending';
}

/** Names the lines of unknown status words. */
function warnOfStates(read: Part[], diagnostics: Diagnostics): void {
  const unknown = read.flatMap(({ parts: { status } }) =>
    status === undefined || statusOfWord(status.value) !== undefined || isLifeCycleWord(status.value)
      ? []
      : [status.line],
  );
  if (unknown.length > 0)
    addWarning({ diagnostics }, undefined, remarkOn(unknown, 'words for a status that halo does not know'));
}

/** `usual`: the sign that done headings of the file have. */
function markOf({ heading, sign, parts: { boxes, status } }: Part, usual: string | undefined): ProgressMark {
  const own = sign?.kind === 'box' ? [sign.box] : [];
  const word = status === undefined || status.value === '' ? undefined : placeOfWord(status);
  return {
    kind: 'boxes',
    boxes: [...own, ...boxes].map(({ offset }) => offset),
    headingEnd: heading.offset + withoutClosing(heading.raw).length,
    ...defined({ word, sign: usual }),
  };
}

/** `## Title ##` up to the title; an underlined heading may end with `#`. */
function withoutClosing(raw: string): string {
  return /^\s*#{1,6}\s/.test(raw) ? raw.replace(/(?<!\s)\s+#+$/, '') : raw;
}

/** Locates the value after the word "status" on its line. */
function placeOfWord({ value, line }: NonNullable<StoryParts['status']>): { from: number; to: number; text: string } {
  const label = /stat(?:us|e)\b/i.exec(line.raw)?.index ?? 0;
  const from = line.offset + line.raw.indexOf(value, label + 5);
  const text = statusOfWord(leadOf(value)) === undefined ? value : leadOf(value);
  return { from, to: from + text.length, text };
}

function readPriority({ priority: text, extra }: StoryParts, id: string, diagnostics: Diagnostics): number | undefined {
  if (text === undefined || text === '') return undefined;
  const word = /^[\w.]{1,20}/.exec(text.replace(/^[^\p{L}\p{N}]+/u, ''))?.[0] ?? '';
  if (word.length < text.length) extra.set('Priority', text);
  const priority = /^\d{1,9}(?:\.\d{1,9})?$/.test(word) ? Number(word) : rankOfWord(word);
  if (priority === undefined) addWarning({ diagnostics }, id, `unknown priority "${text}", so the story runs last`);
  return priority;
}

/** Without criteria labels, the checkboxes could be stories, too, unless the headings have a status or dependencies. */
function warnOfGuess(read: Part[], diagnostics: Diagnostics): void {
  if (read.some(({ lines }) => lines.some(hasCriteria)) || read.every(isTracked)) return;
  const isBare = read.every(({ parts }) => parts.boxes.length === 0);
  if (isBare && read.some(isTracked)) return;
  const text = isBare
    ? 'the headings are read as stories; the file has neither checkboxes nor "Acceptance Criteria"'
    : 'the headings are read as stories and the checkboxes below them as criteria; no line says "Acceptance Criteria"';
  addWarning({ diagnostics }, undefined, text);
}

/** Warns about checkboxes that are neither stories nor criteria. */
function warnOfOtherBoxes(
  { lines }: MarkdownDocument,
  { read, diagnostics }: { read: Part[]; diagnostics: Diagnostics },
): void {
  const inside = read.flatMap(({ parts }) => parts.otherBoxes);
  const used = new Set(read.flatMap((part) => part.lines));
  const outside = lines.filter((line) => line.box !== undefined && !used.has(line));
  if (inside.length > 0)
    addWarning(
      { diagnostics },
      undefined,
      remarkOnBoxes(inside, 'checkboxes outside of acceptance criteria are treated as text'),
    );
  if (outside.length > 0)
    addWarning({ diagnostics }, undefined, remarkOnBoxes(outside, 'checkboxes outside of stories are treated as text'));
}

/** The content below the heading of a story. */
interface StoryParts {
  criteria: string[];
  /** The checkboxes of the criteria. */
  boxes: { mark: string; offset: number }[];
  /** Checkboxes that are not criteria. */
  otherBoxes: Line[];
  description: string;
  texts: StoryTexts;
  status: { value: string; line: Line } | undefined;
  priority: string | undefined;
  references: DependencyReference[];
  /** Everything else, by label. */
  extra: Map<string, string>;
}

/** Lines under one label, under a heading or under none. */
interface Block {
  label: string | undefined;
  /** The text after the label on its line. */
  value: string;
  line: Line | undefined;
  lines: Line[];
}

/** Splits the lines of a story into its parts without losing text. */
function splitStory(lines: Line[]): StoryParts {
  const isLabelled = lines.some((line) => labelsOf(line).some(({ name }) => isCriteria(name)));
  const blocks = splitBlocks(lines, isLabelled);
  const hasLoose = blocks.some((block) => block.label === undefined && hasBoxes(block));
  const parts: StoryParts = {
    criteria: [],
    boxes: [],
    otherBoxes: [],
    description: '',
    texts: { notes: '' },
    status: undefined,
    priority: undefined,
    references: [],
    extra: new Map(),
  };
  for (const block of blocks) {
    if (!isLabelled && hasBoxes(block) && (block.label === undefined || !hasLoose)) readLoose(block, parts);
    else readBlock(block, parts);
  }
  return parts;
}

function isCriteria(name: string): boolean {
  return isCriteriaName(name) || isCriterionLabel(name);
}

function hasBoxes({ lines }: Block): boolean {
  return lines.some(({ box }) => box !== undefined);
}

function splitBlocks(lines: Line[], isLabelled: boolean): Block[] {
  const blocks: Block[] = [{ label: undefined, value: '', line: undefined, lines: [] }];
  for (const [index, line] of lines.entries()) {
    const labels = labelsOf(line);
    for (const { name, value } of labels) blocks.push({ label: name, value, line, lines: [] });
    if (labels.length > 0) continue;
    const block = blocks.at(-1);
    const before = lines[index - 1]?.kind;
    if (block === undefined || endsBlock(block, line, before) || (!isLabelled && isStep(block, line, before))) {
      blocks.push({ label: undefined, value: '', line: undefined, lines: [line] });
    } else {
      block.lines.push(line);
    }
  }
  return blocks;
}

/** The lines below a checkbox are its text. */
function labelsOf(line: Line): Label[] {
  if (line.kind === 'heading') return [{ name: line.text, value: '' }];
  if (line.indent >= 4 || (line.indent > 0 && isBelowBox(line))) return [];
  const labels = readLabels(line);
  if (labels.length > 0) return labels;
  return isCriteriaLine(line) ? [{ name: line.text.replace(/[*_:]/g, '').trim(), value: '' }] : [];
}

/** True if a line ends a block. The block of a label with a value ends at the next paragraph. */
function endsBlock({ label, value, lines }: Block, line: Line, before: Line['kind'] | undefined): boolean {
  if (label === undefined) return false;
  const isWord = isOneLine(label) && !isDependencyName(formOf(label));
  if (line.kind === 'item' && line.parent === undefined) {
    return isWord || (line.box !== undefined && (value !== '' || isOneLine(label)) && !isCriteriaName(label));
  }
  if (line.kind !== 'text' || line.indent > 0 || before !== 'blank') return false;
  const hasItems = lines.some(({ kind }) => kind === 'item');
  return value !== '' || (isCriteriaName(label) && hasItems) || isOneLine(label);
}

/** True for the first checkbox after a list without any, such as that of `**Files:**`. */
function isStep(block: Block, line: Line, before: Line['kind'] | undefined): boolean {
  if (block.label === undefined || line.box === undefined || line.indent > 0 || before !== 'blank') return false;
  return !hasBoxes(block) && (block.value !== '' || block.lines.some(({ kind }) => kind === 'item'));
}

function isOneLine(label: string): boolean {
  return ['status', 'state', 'priority', 'tests first'].includes(formOf(label)) || isDependencyName(formOf(label));
}

function readBlock(block: Block, parts: StoryParts): void {
  const { label, value, line, lines } = block;
  const name = label === undefined ? 'description' : formOf(label);
  if (label !== undefined && isCriteriaName(label)) return readCriteria(block, parts);
  if (label !== undefined && isCriterionLabel(label)) return readCriterion(block, parts);
  for (const each of lines) if (each.box !== undefined) parts.otherBoxes.push(each);
  const text = textOfBlock(block);
  const field = TEXT_FIELD_NAMES.find((each) => TEXT_FIELDS[each].labels.includes(name));
  if (FIELDS.description.labels.includes(name)) parts.description = join(parts.description, text);
  else if (field !== undefined) parts.texts[field] = join(parts.texts[field] ?? '', text);
  else if ((name === 'status' || name === 'state') && parts.status === undefined && line !== undefined) {
    parts.status = { value, line };
    parts.description = join(parts.description, textOfLines(lines));
  } else if (name === 'priority' && parts.priority === undefined) {
    parts.priority = value;
    parts.description = join(parts.description, textOfLines(lines));
  } else if (name === 'tests first') {
    addExtra(parts, label ?? '', value);
    parts.description = join(parts.description, textOfLines(lines));
  } else if (isDependencyName(name)) {
    const references = splitReferences(name, text);
    parts.references.push(...references);
    if (references.some((reference) => /\s/.test(reference.text))) addExtra(parts, label ?? '', text);
  } else addExtra(parts, label ?? '', text);
}

/** Joins the value and the lines below it; wrapped lines continue the value. */
function textOfBlock({ value, lines }: Block): string {
  const text = textOfLines(lines);
  if (value === '' || text === '') return `${value}${text}`;
  return `${value}${lines[0]?.kind === 'blank' ? '\n\n' : '\n'}${text}`;
}

/** If a story has no criteria label, its checkboxes are the criteria: those below no label, or else all. */
function readLoose(block: Block, parts: StoryParts): void {
  const { lines } = block;
  const first = lines.findIndex(({ box }) => box !== undefined);
  readBlock({ ...block, lines: lines.slice(0, first) }, parts);
  readCriteria({ ...block, label: 'Criteria', value: '', lines: lines.slice(first) }, parts);
}

function readCriteria(block: Block, parts: StoryParts): void {
  const { label, value, lines } = block;
  if (value !== '') parts.criteria.push(oneLine(value));
  const isPlain = lines.every(({ kind, text }) => kind !== 'code' && !text.startsWith('|'));
  const level = lines.reduce(
    (least, { box, indent }) => (box === undefined ? least : Math.min(least, indent)),
    Infinity,
  );
  const inside = new Set(lines);
  // Text below a checkbox ends its list: the bullets below that text explain the checkbox.
  let isExplained = false;
  for (const line of lines) {
    const { kind, text, box, indent } = line;
    const isBelow = line.parent !== undefined && inside.has(line.parent);
    const isBullet = !isExplained && (level < Infinity ? indent <= level : !isBelow);
    const isCriterion = kind === 'item' && (box === undefined ? isBullet : indent === level);
    if (isCriterion) parts.criteria.push(oneLine(text));
    else if (isPlain && (kind === 'item' || kind === 'text'))
      parts.criteria.push(oneLine(`${parts.criteria.pop() ?? ''} ${kind === 'item' ? '- ' : ''}${text}`));
    if (box !== undefined) {
      parts.boxes.push(box);
      isExplained = false;
    } else if (kind === 'text' || kind === 'code') isExplained = level < Infinity && indent <= level;
  }
  // Tables, code and text before the list are kept here only.
  if (!isPlain) addExtra(parts, label ?? 'Criteria', textOfLines(lines));
}

/** Reads one criterion with its own label, and the list below it. */
function readCriterion({ label = '', value, lines }: Block, parts: StoryParts): void {
  const texts = lines.flatMap(({ kind, text }) => (kind === 'blank' ? [] : [text]));
  parts.criteria.push(oneLine([`${label}:`, value, ...texts].join(' ')));
  for (const { box } of lines) if (box !== undefined) parts.boxes.push(box);
}

function addExtra(parts: StoryParts, label: string, text: string): void {
  // A heading with subheadings, or an empty field.
  if (text === '') parts.description = join(parts.description, `${label}:`);
  else parts.extra.set(label, join(parts.extra.get(label) ?? '', text));
}

function join(before: string, text: string): string {
  return before === '' || text === '' ? `${before}${text}` : `${before}\n\n${text}`;
}
