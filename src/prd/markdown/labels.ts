import { FIELD_LABELS, FIELDS } from '../../core/prd/fields.ts';
import type { Label, Line } from './outline.ts';

/** Known label names, normalised; they are labels even without emphasis. */
const KNOWN = FIELD_LABELS.join('|');

const SIGNED = [
  /^(\*{1,3})([^*\n]{1,80}?)(:?)\1\s?(:?)(?:\s+(.*))?$/,
  /^(_{1,3})([^_\n]{1,80}?)(:?)\1\s?(:?)(?:\s+(.*))?$/,
];
const PLAIN = new RegExp(`^(${KNOWN})\\s?:(?:\\s+(.*))?$`, 'i');
/** Another known label on the same line. */
const NEXT = new RegExp(`(?<!\\s)(?:\\s*[|·•;]\\s*|\\s+)(?=\\*\\*(?:${KNOWN})(?::\\*\\*|\\*\\*\\s?:))`, 'i');

/** Returns the labels of a line in order; empty for other lines and for checkboxes. */
export function readLabels(line: Line): Label[] {
  line.labels ??= findLabels(line);
  return line.labels;
}

function findLabels(line: Line): Label[] {
  if ((line.kind !== 'text' && line.kind !== 'item') || line.box !== undefined) return [];
  const [first = '', ...others] = line.text.split(NEXT);
  const label = readLabel(first);
  return label === undefined ? [] : [label, ...others.flatMap((text) => readLabel(text) ?? [])];
}

function readLabel(text: string): Label | undefined {
  for (const form of SIGNED) {
    const [, , name = '', inside = '', behind = '', value = ''] = form.exec(text) ?? [];
    if ((inside !== '' || behind !== '') && name.trim() !== '') return { name: name.trim(), value: value.trim() };
  }
  const [, name, value = ''] = PLAIN.exec(text) ?? [];
  return name === undefined ? undefined : { name, value: value.trim() };
}

/** Normalises a name for comparison. */
export function formOf(name: string): string {
  return name
    .toLowerCase()
    .replace(/[^\p{L}\p{N}]+/gu, ' ')
    .trim();
}

/** True if a name introduces acceptance criteria. */
export function isCriteriaName(name: string): boolean {
  return FIELDS.acceptance.labels.includes(formOf(name).replace(/^[\d ]{1,9}/, ''));
}

/** True for the label of a single criterion: `**AC1 - Add:**`. */
export function isCriterionLabel(name: string): boolean {
  return /^(?:ac|criterion)[\s-]{0,3}\d/i.test(name);
}

/** True for `Acceptance Criteria:` as a heading or a label, bold or not, with or without text after it. */
export function isCriteriaLine(line: Line): boolean {
  line.isCriteria ??= findCriteria(line);
  return line.isCriteria;
}

function findCriteria(line: Line): boolean {
  if (line.kind === 'heading') return isCriteriaName(line.text);
  if (line.kind === 'text' && /^[*_]{0,3}acceptance(?: criteria)?\s?:?[*_]{0,3}\s?:?$/i.test(line.text)) return true;
  if (line.kind === 'text' && /^(\*\*|__)[^*_]{1,40}\1$/.test(line.text)) return isCriteriaName(line.text);
  return readLabels(line).some(({ name }) => isCriteriaName(name));
}
