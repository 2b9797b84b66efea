import { oneLine } from '../../lib/text.ts';
import { isDependencyName, splitReferences, type DependencyReference } from './markdown-dependencies.ts';
import { formOf, isCriteriaLine, isCriteriaName, readLabels, type Label } from './labels.ts';
import type { Line } from './line.ts';
import { textOfLines } from './read-surroundings.ts';

/** The content below the heading of a story. */
export interface StoryParts {
  criteria: string[];
  /** The checkboxes of the criteria. */
  boxes: { mark: string; offset: number }[];
  /** Checkboxes that are not criteria. */
  otherBoxes: Line[];
  description: string;
  notes: string;
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
export function splitStory(lines: Line[]): StoryParts {
  const hasCriteria = lines.some((line) => labelsOf(line).some(({ name }) => isCriteriaName(name)));
  const blocks = splitBlocks(lines, hasCriteria);
  const hasLoose = blocks.some((block) => block.label === undefined && hasBoxes(block));
  const parts: StoryParts = {
    criteria: [],
    boxes: [],
    otherBoxes: [],
    description: '',
    notes: '',
    status: undefined,
    priority: undefined,
    references: [],
    extra: new Map(),
  };
  for (const block of blocks) {
    if (!hasCriteria && hasBoxes(block) && (block.label === undefined || !hasLoose)) readLoose(block, parts);
    else readBlock(block, parts);
  }
  return parts;
}

function hasBoxes({ lines }: Block): boolean {
  return lines.some(({ box }) => box !== undefined);
}

function splitBlocks(lines: Line[], hasCriteria: boolean): Block[] {
  const blocks: Block[] = [{ label: undefined, value: '', line: undefined, lines: [] }];
  for (const [index, line] of lines.entries()) {
    const labels = line.indent < 4 ? labelsOf(line) : [];
    for (const { name, value } of labels) blocks.push({ label: name, value, line, lines: [] });
    if (labels.length > 0) continue;
    const block = blocks.at(-1);
    const before = lines[index - 1]?.kind;
    if (block === undefined || endsBlock(block, line, before) || (!hasCriteria && isStep(block, line, before))) {
      blocks.push({ label: undefined, value: '', line: undefined, lines: [line] });
    } else {
      block.lines.push(line);
    }
  }
  return blocks;
}

function labelsOf(line: Line): Label[] {
  if (line.kind === 'heading') return [{ name: line.text, value: '' }];
  const labels = readLabels(line);
  if (labels.length > 0) return labels;
  return isCriteriaLine(line) ? [{ name: line.text.replace(/[*_:]/g, '').trim(), value: '' }] : [];
}

/** True if a line ends a block. The block of a label with a value ends at the next paragraph. */
function endsBlock({ label, value, lines }: Block, line: Line, before: Line['kind'] | undefined): boolean {
  if (label === undefined) return false;
  const isWord = isOneLine(label) && !isDependencyName(formOf(label));
  if (line.kind === 'item' && line.indent === 0) {
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
  for (const each of lines) if (each.box !== undefined) parts.otherBoxes.push(each);
  const text = textOfBlock(block);
  if (['description', 'user story'].includes(name)) parts.description = join(parts.description, text);
  else if (name === 'notes') parts.notes = join(parts.notes, text);
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
  for (const { kind, text, box } of lines) {
    if (kind === 'item') {
      parts.criteria.push(oneLine(text));
      if (box !== undefined) parts.boxes.push(box);
    } else if (kind === 'text' && isPlain) {
      parts.criteria.push(oneLine(`${parts.criteria.pop() ?? ''} ${text}`));
    }
  }
  // Tables, code and text before the list are kept here only.
  if (!isPlain) addExtra(parts, label ?? 'Criteria', textOfLines(lines));
}

function addExtra(parts: StoryParts, label: string, text: string): void {
  // A heading with subheadings, or an empty field.
  if (text === '') parts.description = join(parts.description, `${label}:`);
  else parts.extra.set(label, join(parts.extra.get(label) ?? '', text));
}

function join(before: string, text: string): string {
  return before === '' || text === '' ? `${before}${text}` : `${before}\n\n${text}`;
}
