import { safeLine, safeText } from '../text/safe-text.ts';

/** A labelled text of a PRD. */
export interface Detail {
  label: string;
  text: string;
}

/** A detail that was truncated. */
export interface CutDetail {
  label: string;
  /** Characters of the full text, and of the part that is kept. */
  length: number;
  kept: number;
}

/** Converts named values to details, in their order; empty values are omitted. */
export function toDetails(values: Record<string, unknown>): Detail[] {
  return Object.entries(values).flatMap(([key, value]) => {
    const text = valueText(value);
    return text === '' ? [] : [{ label: safeLine(key, 1000), text }];
  });
}

/** Deeper values are formatted as JSON. */
const MAX_DEPTH = 6;

/** Formats a JSON value as text: strings unchanged, arrays as bullets, objects as lines `name: value`. */
export function valueText(value: unknown, depth = 0): string {
  if (value === null || value === undefined) return '';
  if (typeof value === 'object' && depth === MAX_DEPTH) return safeText(JSON.stringify(value));
  if (Array.isArray(value)) {
    const items = value.map((item) => valueText(item, depth + 1)).filter((text) => text !== '');
    return items.map((item) => `- ${indent(item)}`).join('\n');
  }
  if (typeof value === 'object') {
    const members = Object.entries(value).map(([key, member]): [string, string] => [key, valueText(member, depth + 1)]);
    return members.flatMap(([key, text]) => (text === '' ? [] : [`${key}:${below(text)}`])).join('\n');
  }
  return safeText(typeof value === 'string' ? value : JSON.stringify(value)).trim();
}

/** All non-empty strings in a value, at any depth. */
export function leafTexts(value: unknown): string[] {
  if (typeof value === 'string') return value.trim() === '' ? [] : [value.trim()];
  if (typeof value !== 'object' || value === null) return [];
  return Object.values(value).flatMap(leafTexts);
}

/**
 * Truncates details to a total of `maxLength` characters. Short texts are kept whole; the longer ones share the remaining
 * space.
 */
export function fitDetails<D extends Detail>(
  details: readonly D[],
  maxLength: number,
): { shown: D[]; cut: CutDetail[] } {
  const bySize = [...details].sort((a, b) => a.text.length - b.text.length);
  const room = new Map<D, number>();
  let left = maxLength;
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
    return kept === 0 ? [] : [{ ...detail, text: truncateText(text, kept) }];
  });
  return { shown, cut };
}

/** Truncates a text to `maxLength` characters, with a marker. */
export function truncateText(text: string, maxLength: number): string {
  return text.length <= maxLength ? text : `${text.slice(0, maxLength).trimEnd()} […]`;
}

function below(text: string): string {
  return text.includes('\n') || text.startsWith('- ') ? `\n  ${indent(text)}` : ` ${text}`;
}

function indent(text: string): string {
  return text.replaceAll('\n', '\n  ');
}
