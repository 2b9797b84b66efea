import { capitalize } from '../../lib/text.ts';
import { isLifeCycleWord, statusOfWord } from './read-status.ts';

/** The word that the file uses most often for done; if it uses none, `doneWord` in the letter case of its other words. */
export function chooseDoneWord(words: string[], doneWord: string): string {
  const most = mostFrequent(words.filter((word) => statusOfWord(word) === 'done'));
  if (most !== undefined) return most;
  const others = words.filter((word) => !isLifeCycleWord(word));
  if (others.length === 0) return doneWord;
  if (others.every((word) => /\p{Lu}/u.test(word) && !/\p{Ll}/u.test(word))) return doneWord.toUpperCase();
  const isCapital = others.every((word) => /^[^\p{L}]*\p{Lu}/u.test(word));
  return isCapital ? capitalize(doneWord) : doneWord;
}

/** The most frequent value; the first of several. */
export function mostFrequent(values: string[]): string | undefined {
  const counts = new Map<string, number>();
  for (const value of values) counts.set(value, (counts.get(value) ?? 0) + 1);
  const [most] = [...counts].sort(([, a], [, b]) => b - a);
  return most?.[0];
}
