/**
 * Characters that a person does not see where they stand, or that a terminal obeys: control characters but tab and
 * line ends, zero-width and direction characters, tags and other default-ignorable ones (fillers that look like nothing
 * but count as letters among them), line separators that are no newline, lone surrogates, what is no character, and others
 * that are drawn as nothing: the blank of braille, a note without a head, modifiers of old scripts.
 */
const HIDDEN = String.raw`(?![\t\n]|\r\n)[\p{Cc}\p{Zl}\p{Zp}\p{Cs}\p{Default_Ignorable_Code_Point}\p{Noncharacter_Code_Point}\ufff9-\ufffb\u2800\u{1d159}\u{13430}-\u{13440}\u{16fe4}\u{1bc9d}\u{1bc9e}\u{1107f}\u{1da9b}-\u{1da9f}\u{1daa1}-\u{1daaf}]`;

/** What is drawn onto the character before it. More of it in a row than any script needs would cover other lines. */
const MARK = String.raw`(?!\p{Default_Ignorable_Code_Point})[\p{Mn}\p{Me}]`;
const MOST_MARKS = 6;

/** Scripts in which zero-width joiners are spelling; only between their own letters. */
const JOINED = `[${['Arab', 'Syrc', 'Deva', 'Beng', 'Guru', 'Gujr', 'Orya', 'Taml', 'Telu', 'Knda', 'Mlym', 'Sinh']
  .map((script) => String.raw`\p{Script_Extensions=${script}}`)
  .join('')}]`;

/**
 * Where ignorable characters are part of something that is seen: emoji, keycaps, spelling. Not variants of ideographs: two
 * names that differ in one are two names to a compiler, and hardly two to a person.
 */
const SEEN = [
  String.raw`\p{Extended_Pictographic}[\ufe0e\ufe0f]?\p{Emoji_Modifier}?(?:\u200d\p{Extended_Pictographic}\ufe0f?\p{Emoji_Modifier}?){0,9}`,
  String.raw`[0-9#*]\ufe0f\u20e3`,
  String.raw`(?<=${JOINED})[\u200c\u200d](?=${JOINED})`,
];

const ANY = new RegExp(String.raw`${HIDDEN}|(?:${MARK}){${MOST_MARKS + 1}}`, 'u');
const EACH = new RegExp(String.raw`${SEEN.join('|')}|((?:${MARK}){${MOST_MARKS}})((?:${MARK})+)|(${HIDDEN})`, 'gu');

/** Whether a text holds a character that a person would not see in it. */
export function hasHidden(text: string): boolean {
  if (!ANY.test(text)) return false;
  let found = false;
  replaceHidden(text, (character) => {
    found = true;
    return character;
  });
  return found;
}

/** The text with each of its hidden characters replaced by what `how` makes of it. */
export function replaceHidden(text: string, how: (character: string) => string): string {
  if (!ANY.test(text)) return text;
  return text.replace(EACH, (match: string, marks?: string, flood?: string, hidden?: string) => {
    if (hidden !== undefined) return how(hidden);
    return marks === undefined || flood === undefined ? match : marks + Array.from(flood, how).join('');
  });
}

/** A hidden character as people read it, for example `<U+202E>`. */
export function spell(character: string): string {
  return `<U+${(character.codePointAt(0) ?? 0).toString(16).toUpperCase().padStart(4, '0')}>`;
}

/**
 * How many hidden characters a line has. A return at its end does not count, a byte order mark at the start of a file
 * neither, and a lone surrogate stands for what was no text.
 */
export function countHidden(line: string, { startsFile = false } = {}): number {
  let count = 0;
  const from = startsFile && line.startsWith('\ufeff') ? 1 : 0;
  replaceHidden(line.slice(from, line.endsWith('\r') ? -1 : undefined), (character) => {
    if (!/\p{Surrogate}/u.test(character)) count += 1;
    return character;
  });
  return count;
}
