import { replaceHidden, formatCodePoint } from './hidden-characters.ts';

/** Greek and Cyrillic letters and the Latin letters that look the same in most fonts. */
const LOOK_ALIKES = 'ΑΒΕΖΗΙΚΜΝΟΡΤΥΧονАВЕЅІЈКМНОРСТУХаеіјорсухѕԁһ';
const LATIN_LETTERS = 'ABEZHIKMNOPTYXovABESIJKMHOPCTYXaeijopcyxsdh';
const LATIN = new Map(Array.from(LOOK_ALIKES, (letter, at) => [letter, LATIN_LETTERS.charAt(at)]));

/**
 * Normalises a name to its appearance: names with the same skeleton differ only in Unicode forms, blanks, dashes, invisible
 * characters or letters of other scripts. Case-sensitive.
 */
export function visualSkeleton(name: string): string {
  return name
    .normalize('NFKC')
    .replace(INVISIBLE, '')
    .replace(/[\s\u2800]+/g, ' ')
    .replace(/[\p{Pd}\u2212]/gu, '-')
    .replace(/[\u0370-\u052f]/g, (letter) => LATIN.get(letter) ?? letter)
    .trim();
}

/** The first hidden character of a name, as `<U+200B>`; undefined if there is none. */
export function findHiddenCharacter(name: string): string | undefined {
  const blank = /[\t\n]/.exec(name)?.[0];
  let first = blank === undefined ? undefined : formatCodePoint(blank);
  replaceHidden(name, (character) => (first ??= formatCodePoint(character)));
  return first;
}

/** Quotes a name with code points for repeated blanks and everything but ASCII, to tell it from similar ones. */
export function quoteExactly(name: string): string {
  return JSON.stringify(name).replace(/[^\x20-\x7e]|(?<= ) /gu, formatCodePoint);
}

/** Includes joiners, which affect their neighbours, and private-use characters. */
const INVISIBLE = /[\p{Cc}\p{Cf}\p{Cs}\p{Co}\p{Zl}\p{Zp}\p{Default_Ignorable_Code_Point}]/gu;
