import { HaloError } from '../failure/errors.ts';
import { closeSentence } from '../text/did-you-mean.ts';

/** Named priorities; as with nice, lower values run first. */
const PRIORITY_WORDS = { high: -10, normal: 0, low: 10 } as const;

/** Maximum absolute value of a priority. */
const MAX_PRIORITY = 1000;

/** Parses `high`, `normal`, `low` or an integer. Throws USAGE. */
export function parsePriority(text: string): number {
  if (Object.hasOwn(PRIORITY_WORDS, text)) return PRIORITY_WORDS[text as keyof typeof PRIORITY_WORDS];
  const value = Number(text);
  if (/^-?\d{1,4}$/.test(text) && isPriority(value)) return value;
  throw new HaloError('USAGE', `"${text}" is not a priority${closeSentence(text, Object.keys(PRIORITY_WORDS))}`, {
    hint: `Write high, normal, low, or a whole number from -${MAX_PRIORITY} to ${MAX_PRIORITY}; smaller runs first.`,
  });
}

export function isPriority(value: number): boolean {
  return Number.isInteger(value) && Math.abs(value) <= MAX_PRIORITY;
}

/** `high`, `low` or the number; undefined for the default. */
export function priorityText(value: number): string | undefined {
  if (value === PRIORITY_WORDS.normal) return undefined;
  return Object.entries(PRIORITY_WORDS).find(([, number]) => number === value)?.[0] ?? String(value);
}
