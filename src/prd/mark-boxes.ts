import type { Mark } from './dialect.ts';
import type { Edit } from './edits.ts';

/** Ticks the box of a story, or all of its criteria, with `x` or `X`; a heading without any gets a sign at its end. */
export function markBoxes({ boxes, headingEnd }: Mark & { kind: 'boxes' }, tick: string): Edit[] {
  if (boxes.length === 0 && headingEnd !== undefined) return [{ from: headingEnd, to: headingEnd, text: ' ✅' }];
  return boxes.map((offset) => ({ from: offset, to: offset + 1, text: tick }));
}
