/** What terminals obey, in parts, with characters that look like more. */
const PARTS = [
  ...['\u001b', '[', ']', 'P', ';', '0', 'm', '\u009b', '\u0007', '\\', 'x', '\n', '\u202e', '\r', '\u0090'],
  ...['(', '\u009c', '漢'],
];

export interface HostileText {
  /** A whole number from 0, below this one. */
  next(most: number): number;
  /** Twenty parts in any order. */
  text(): string;
}

/** Hostile texts without end, the same ones for the same seed. */
export function openHostileText(seed: number): HostileText {
  let state = seed;
  const next = (most: number) => (state = (state * 1103515245 + 12345) & 0x7fffffff) % most;
  return { next, text: () => Array.from({ length: 20 }, () => PARTS[next(PARTS.length)]).join('') };
}
