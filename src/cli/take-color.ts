import { COLORS, type ColorWish } from '../config/environment/terminal-settings.ts';

const OPTION = '--color=';

/** Takes `--color=always`, `never` or `auto` out of the words, wherever it stands before a `--`; the last one counts. */
export function takeColor(words: readonly string[]): { words: string[]; wish: ColorWish } {
  const end = words.includes('--') ? words.indexOf('--') : words.length;
  const wishOf = (word: string) => COLORS.find((wish) => word === `${OPTION}${wish}`);
  const wishes = words.slice(0, end).flatMap((word) => wishOf(word) ?? []);
  const left = words.filter((word, index) => index >= end || wishOf(word) === undefined);
  return { words: left, wish: wishes.at(-1) ?? 'auto' };
}
