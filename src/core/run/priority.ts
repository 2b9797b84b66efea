import { HaloError } from '../failure/errors.ts';

/** Words for priorities; as with nice, the smaller number goes first. */
const PRIORITY_WORDS = { high: -10, normal: 0, low: 10 } as const;

/** Smallest and largest priority of a run. */
const PRIORITY_LIMIT = 1000;

/** `high`, `normal`, `low` or a whole number. Throws USAGE. */
export function parsePriority(text: string): number {
  if (Object.hasOwn(PRIORITY_WORDS, text)) return PRIORITY_WORDS[text as keyof typeof PRIORITY_WORDS];
  const value = Number(text);
  if (/^-?\d{1,4}$/.test(text) && isPriority(value)) return value;
  throw new HaloError('USAGE', `"${text}" is not a priority.`, {
    hint: `Write high, normal, low, or a whole number from -${PRIORITY_LIMIT} to ${PRIORITY_LIMIT}; smaller goes first.`,
  });
}

export function isPriority(value: number): boolean {
  return Number.isInteger(value) && Math.abs(value) <= PRIORITY_LIMIT;
}

/** `high`, `low` or the number; undefined for what is usual. */
export function priorityText(value: number): string | undefined {
  if (value === PRIORITY_WORDS.normal) return undefined;
  return Object.entries(PRIORITY_WORDS).find(([, number]) => number === value)?.[0] ?? String(value);
}
