import { STYLING } from './safe-text.ts';

/** Finds the lines that contain a text, in upper or lower case. Returns their numbers, from 0. Ignores colors. */
export function findLines(lines: string, text: string): number[] {
  const wanted = text.toLowerCase();
  const plain = (lines.includes('\u001b') ? lines.replace(STYLING, '') : lines).toLowerCase();
  // Most parts of a long log do not contain it.
  if (!plain.includes(wanted)) return [];
  return plain.split('\n').flatMap((line, number) => (line.includes(wanted) ? [number] : []));
}
