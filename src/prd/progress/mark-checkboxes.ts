import type { DraftStory, ProgressMark } from '../dialect.ts';
import type { Edit } from '../json/text-edits.ts';
import { statusOfWord } from '../story/read-status.ts';
import { chooseDoneWord } from '../story/done-word.ts';

/**
 * Ticks the checkbox of a story, or those of its criteria, and replaces its status word with the word that the file uses
 * for done. ✅ or the sign of the dialect is appended to a heading or bullet without either.
 */
export function markCheckboxes(
  { boxes, headingEnd, word, sign = '✅' }: BoxesMark,
  { tick, stories }: CheckboxOptions,
): Edit[] {
  const isOpen = word !== undefined && statusOfWord(word.text) !== 'done';
  if (boxes.length === 0 && !isOpen && headingEnd !== undefined)
    return [{ from: headingEnd, to: headingEnd, text: ` ${sign}` }];
  const ticks = boxes.map((offset) => ({ from: offset, to: offset + 1, text: tick }));
  if (!isOpen) return ticks;
  const words = stories.flatMap(({ mark }) => (mark.kind === 'boxes' ? (mark.word?.text ?? []) : []));
  return [...ticks, { from: word.from, to: word.to, text: chooseDoneWord(words, 'done') }];
}

type BoxesMark = ProgressMark & { kind: 'boxes' };

export interface CheckboxOptions {
  tick: string;
  /** All stories of the file. */
  stories: DraftStory[];
}
