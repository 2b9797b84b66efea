import { replaceHidden, spell } from './text/hidden-characters.ts';

/** Of letters that most fonts draw alike, the Greek and Cyrillic ones and the Latin ones. */
const DRAWN = 'ΑΒΕΖΗΙΚΜΝΟΡΤΥΧονАВЕЅІЈКМНОРСТУХаеіјорсухѕԁһ';
const AS = 'ABEZHIKMNOPTYXovABESIJKMHOPCTYXaeijopcyxsdh';
const LATIN = new Map(Array.from(DRAWN, (letter, at) => [letter, AS.charAt(at)]));

/**
 * What a name looks like: two names with the same look cannot be told apart on a screen, because they differ in Unicode
 * forms, blanks, dashes, invisible characters or letters of another script alone. Case counts.
 */
export function lookOf(name: string): string {
  return name
    .normalize('NFKC')
    .replace(INVISIBLE, '')
    .replace(/[\s\u2800]+/g, ' ')
    .replace(/[\p{Pd}\u2212]/gu, '-')
    .replace(/[\u0370-\u052f]/g, (letter) => LATIN.get(letter) ?? letter)
    .trim();
}

/** The first character of a name that a person would not see, as `<U+200B>`; undefined when all can be seen. */
export function findHidden(name: string): string | undefined {
  const blank = /[\t\n]/.exec(name)?.[0];
  let first = blank === undefined ? undefined : spell(blank);
  replaceHidden(name, (character) => (first ??= spell(character)));
  return first;
}

/** A name in quotes, with each character but plain ASCII by its number, and repeated blanks: what tells it from others. */
export function spellOut(name: string): string {
  return JSON.stringify(name).replace(/[^\x20-\x7e]|(?<= ) /gu, spell);
}

/** Also those that are seen beside their neighbours, such as joiners, or that every font draws in its own way. */
const INVISIBLE = /[\p{Cc}\p{Cf}\p{Cs}\p{Co}\p{Zl}\p{Zp}\p{Default_Ignorable_Code_Point}]/gu;
