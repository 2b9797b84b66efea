import type { DraftStory, Mark } from '../dialect.ts';
import type { Edit } from '../json/text-edits.ts';
import { statusOfWord } from '../story/read-status.ts';
import { doneWordLike } from '../story/done-word.ts';

/**
 * Ticks the box of a story, or all of its criteria, with `x` or `X`, and changes its word for progress into the one that
 * the file uses; a heading without any of these gets a sign at its end.
 */
export function markBoxes({ boxes, headingEnd, word }: BoxesMark, { tick, stories }: BoxOptions): Edit[] {
  const isOpen = word !== undefined && statusOfWord(word.text) !== 'done';
  if (boxes.length === 0 && !isOpen && headingEnd !== undefined)
    return [{ from: headingEnd, to: headingEnd, text: ' ✅' }];
  const ticks = boxes.map((offset) => ({ from: offset, to: offset + 1, text: tick }));
  if (!isOpen) return ticks;
  const words = stories.flatMap(({ mark }) => (mark.kind === 'boxes' ? (mark.word?.text ?? []) : []));
  return [...ticks, { from: word.from, to: word.to, text: doneWordLike(words, 'done') }];
}

type BoxesMark = Mark & { kind: 'boxes' };

export interface BoxOptions {
  tick: string;
  /** All stories of the file. */
  stories: DraftStory[];
}
