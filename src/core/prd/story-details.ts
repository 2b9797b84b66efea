import { safeLine, safeText } from '../safe-text.ts';

/** A text that a person wrote, under the name that they gave it. */
export interface Detail {
  label: string;
  text: string;
}

/** One that did not fit as a whole. */
export interface CutDetail {
  label: string;
  /** Characters of the whole text, and of what is kept of it. */
  length: number;
  kept: number;
}

/** Values under names as texts, in their order; what is empty at any depth says nothing and is left out. */
export function detailsOf(values: Record<string, unknown>): Detail[] {
  return Object.entries(values).flatMap(([key, value]) => {
    const text = textOf(value);
    return text === '' ? [] : [{ label: safeLine(key, 1000), text }];
  });
}

/** What is nested deeper than this is written as JSON. */
const DEEPEST = 6;

/** Any JSON value for a reader: texts as they are, lists as bullets, objects as lines `name: value`. */
export function textOf(value: unknown, depth = 0): string {
  if (value === null || value === undefined) return '';
  if (typeof value === 'object' && depth === DEEPEST) return safeText(JSON.stringify(value));
  if (Array.isArray(value)) {
    const items = value.map((item) => textOf(item, depth + 1)).filter((text) => text !== '');
    return items.map((item) => `- ${indent(item)}`).join('\n');
  }
  if (typeof value === 'object') {
    const members = Object.entries(value).map(([key, member]): [string, string] => [key, textOf(member, depth + 1)]);
    return members.flatMap(([key, text]) => (text === '' ? [] : [`${key}:${below(text)}`])).join('\n');
  }
  return safeText(typeof value === 'string' ? value : JSON.stringify(value)).trim();
}

/** All texts inside of a value, at any depth; numbers and flags are none. */
export function leavesOf(value: unknown): string[] {
  if (typeof value === 'string') return value.trim() === '' ? [] : [value.trim()];
  if (typeof value !== 'object' || value === null) return [];
  return Object.values(value).flatMap(leavesOf);
}

/**
 * Cuts texts so that all of them together have at most `most` characters. Short ones are kept whole: what they leave
 * over is shared among the longer ones.
 */
export function fitDetails<D extends Detail>(details: readonly D[], most: number): { shown: D[]; cut: CutDetail[] } {
  const bySize = [...details].sort((a, b) => a.text.length - b.text.length);
  const room = new Map<D, number>();
  let left = most;
  for (const [index, detail] of bySize.entries()) {
    const share = Math.min(detail.text.length, Math.floor(left / (bySize.length - index)));
    room.set(detail, share);
    left -= share;
  }
  const cut: CutDetail[] = [];
  const shown = details.flatMap((detail) => {
    const { label, text } = detail;
    const kept = room.get(detail) ?? 0;
    if (kept >= text.length) return [detail];
    cut.push({ label, length: text.length, kept });
    return kept === 0 ? [] : [{ ...detail, text: cutText(text, kept) }];
  });
  return { shown, cut };
}

/** The first `most` characters of a text, with a sign where more is missing. */
export function cutText(text: string, most: number): string {
  return text.length <= most ? text : `${text.slice(0, most).trimEnd()} […]`;
}

function below(text: string): string {
  return text.includes('\n') || text.startsWith('- ') ? `\n  ${indent(text)}` : ` ${text}`;
}

function indent(text: string): string {
  return text.replaceAll('\n', '\n  ');
}
