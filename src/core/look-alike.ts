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

/** The first character of a name that nobody sees, as `U+200B`; undefined when all can be seen. Emoji may have a style. */
export function findInvisible(name: string): string | undefined {
  const found = name.replace(/[\ufe0e\ufe0f]/g, '').match(INVISIBLE)?.[0];
  return found === undefined ? undefined : `U+${hex(found.codePointAt(0) ?? 0)}`;
}

/** A name in quotes, with each character but plain ASCII by its number, and repeated blanks: what tells it from others. */
export function spellOut(name: string): string {
  const plain = JSON.stringify(name);
  return plain.replace(/[^\x20-\x7e]|(?<= ) /gu, (character) => `\\u{${hex(character.codePointAt(0) ?? 0)}}`);
}

const INVISIBLE = /[\p{Cc}\p{Cf}\p{Cs}\p{Co}\p{Zl}\p{Zp}\p{Default_Ignorable_Code_Point}]/gu;

function hex(point: number): string {
  return point.toString(16).toUpperCase().padStart(4, '0');
}
