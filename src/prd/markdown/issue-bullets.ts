import { findCheckboxes, type Checkbox } from './checkboxes.ts';
import type { LeadingId } from './leading-id.ts';
import { buildOutline, type Line } from './outline.ts';
import type { Remark } from '../diagnostics.ts';
import { remarkOn, type MarkdownDocument } from './blocks.ts';

/**
 * Reads bullets that name issues, like `- [#42] title`, as checkboxes; `[DONE]` or `[COMPLETE]` in the line ticks them.
 * If a checkbox of the file names no issue, only bullets in a section with checkboxes count: others are references.
 */
export function readIssueBullets(document: MarkdownDocument): MarkdownDocument {
  const isPlan = document.boxes.every(({ text }) => bracketOf(text) !== undefined);
  const sections = new Set(document.boxes.map(({ section }) => section));
  const beside = new Set([...sections].flatMap(({ lines }) => lines.filter(isIssueBullet)));
  if (!isPlan && beside.size === 0) return document;
  const lines = document.lines.map((line) => (isPlan || beside.has(line) ? toIssueLine(line) : line));
  const outline = buildOutline(lines);
  const boxes = findCheckboxes(outline);
  const isKnown = knownIds(boxes);
  const ignored = [...document.ignored, ...findOtherBullets(boxes)];
  return { ...document, lines, outline, boxes: boxes.map((box) => nameBox(box, isKnown)), ignored };
}

/** Names the bullets among those with issues that name none: they look the same, but are not stories. */
function findOtherBullets(boxes: Checkbox[]): Remark[] {
  const used = new Set(boxes.flatMap((box) => box.lines));
  const sections = new Set(boxes.flatMap(({ line, section }) => (line.impliedMark === undefined ? [] : [section])));
  const others = [...sections].flatMap((section) =>
    section.lines.filter((line) => line.kind === 'item' && line.indent === 0 && !used.has(line)),
  );
  return others.length === 0 ? [] : [remarkOn(others, 'bullets without an issue, like [#42], are not stories')];
}

/** True if a text begins with the id of an issue in brackets: `[#42]`, or `[shop-a1]` as in beads. */
function namesIssue(text: string): boolean {
  return /^\[(?:#\d|[A-Za-z]\w*-\w*\d)[\w.]*\](?:\s|$)/.test(text);
}

/** True for a top-level bullet that names an issue and has no checkbox. */
export function isIssueBullet({ kind, indent, box, impliedMark, text }: Line): boolean {
  return kind === 'item' && indent === 0 && box === undefined && impliedMark === undefined && namesIssue(text);
}

function toIssueLine(line: Line): Line {
  if (line.kind !== 'item' || line.indent > 0) return line;
  if (line.box === undefined && !namesIssue(line.text)) return line;
  const text = line.text.replace(DONE, ' ').trim();
  const isDone = text !== line.text;
  if (line.box === undefined) return { ...line, text, impliedMark: isDone ? 'x' : ' ' };
  return isDone ? { ...line, text, box: { ...line.box, mark: 'x' } } : line;
}

const DONE = /\s{0,9}\[(?:DONE|COMPLETED?)\]\s{0,9}/g;

const BRACKET = /^\[(#\d{1,9}|[A-Za-z]\w{0,19}-\w{1,20}(?:\.\w{1,20})?)\](?=[\s:]|$)/;

function bracketOf(text: string): string | undefined {
  return BRACKET.exec(text)?.[1];
}

/** Ids without a digit may be tags like `[front-end]`. They are ids if every checkbox has another one of the same prefix. */
function knownIds(boxes: Checkbox[]): (id: string) => boolean {
  const ids = boxes.map(({ text }) => bracketOf(text));
  const prefixes = new Set(ids.map((id) => (id?.startsWith('#') === true ? undefined : /^\w+/.exec(id ?? '')?.[0])));
  prefixes.delete(undefined);
  const isUniform = !ids.includes(undefined) && new Set(ids).size === ids.length && prefixes.size === 1;
  return (id) => /\d/.test(id) || (isUniform && ids.length > 1);
}

function nameBox(box: Checkbox, isKnown: (id: string) => boolean): Checkbox {
  const id = bracketOf(box.text);
  if (id === undefined || !isKnown(id)) return box;
  const rest = box.text.slice(id.length + 2).replace(/^\s*(?:[-–—:]\s+)?/, '');
  const leading: LeadingId = { id, rest: rest.trim(), certain: true };
  return { ...box, leading };
}

/** True if at least one story of the file names its issue. */
export function hasIssueIds({ boxes }: MarkdownDocument): boolean {
  return boxes.some(({ leading, text }) => leading !== undefined || namesIssue(text));
}
