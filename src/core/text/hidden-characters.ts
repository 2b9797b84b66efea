/**
 * Characters that are invisible or that terminals interpret: control characters except tab and line ends, zero-width and
 * bidirectional characters, tags and other default-ignorable ones (including fillers that count as letters), line
 * separators other than newline, lone surrogates, noncharacters, and others without a glyph: the braille blank, a null
 * note head, modifiers of historic scripts.
 */
const HIDDEN = String.raw`(?![\t\n]|\r\n)[\p{Cc}\p{Zl}\p{Zp}\p{Cs}\p{Default_Ignorable_Code_Point}\p{Noncharacter_Code_Point}\ufff9-\ufffb\u2800\u{1d159}\u{13430}-\u{13440}\u{16fe4}\u{1bc9d}\u{1bc9e}\u{1107f}\u{1da9b}-\u{1da9f}\u{1daa1}-\u{1daaf}]`;

/** Combining marks. More in a row than any script needs would cover other lines. */
const MARK = String.raw`(?!\p{Default_Ignorable_Code_Point})[\p{Mn}\p{Me}]`;
const MAX_MARKS = 6;

/** Scripts whose spelling uses zero-width joiners, only between their own letters. */
const JOINED = `[${['Arab', 'Syrc', 'Deva', 'Beng', 'Guru', 'Gujr', 'Orya', 'Taml', 'Telu', 'Knda', 'Mlym', 'Sinh']
  .map((script) => String.raw`\p{Script_Extensions=${script}}`)
  .join('')}]`;

/**
 * Ignorable characters that are part of something visible: emoji, keycaps, spelling. Not variation selectors of
 * ideographs: names that differ only in one are different to a compiler but look the same.
 */
const SEEN = [
  String.raw`\p{Extended_Pictographic}[\ufe0e\ufe0f]?\p{Emoji_Modifier}?(?:\u200d\p{Extended_Pictographic}\ufe0f?\p{Emoji_Modifier}?){0,9}`,
  String.raw`[0-9#*]\ufe0f\u20e3`,
  String.raw`(?<=${JOINED})[\u200c\u200d](?=${JOINED})`,
];

/**
 * Texts without hidden characters: ASCII, Latin letters, dashes and dots, arrows, lines, checks, Chinese, Japanese and Korean.
 * Most are like that, and the searches below take long to compile and to run.
 */
const PLAIN =
  /^[\t\n\x20-\x7e\xa1-\xac\xae-\u02ff\u2010-\u2027\u2190-\u21ff\u2500-\u257f\u2713\u2717\u3041-\u3096\u30a1-\u30ff\u4e00-\u9fff\uac00-\ud7a3]*$/;

let searches: { any: RegExp; each: RegExp } | undefined;

function compileSearches(): { any: RegExp; each: RegExp } {
  searches ??= {
    any: new RegExp(String.raw`${HIDDEN}|(?:${MARK}){${MAX_MARKS + 1}}`, 'u'),
    each: new RegExp(String.raw`${SEEN.join('|')}|((?:${MARK}){${MAX_MARKS}})((?:${MARK})+)|(${HIDDEN})`, 'gu'),
  };
  return searches;
}

/** Whether a text contains hidden characters. */
export function hasHidden(text: string): boolean {
  let found = false;
  replaceHidden(text, (character) => {
    found = true;
    return character;
  });
  return found;
}

/** Replaces each hidden character with the result of `how`. */
export function replaceHidden(text: string, how: (character: string) => string): string {
  if (PLAIN.test(text)) return text;
  const { any, each } = compileSearches();
  if (!any.test(text)) return text;
  return text.replace(each, (match: string, marks?: string, flood?: string, hidden?: string) => {
    if (hidden !== undefined) return how(hidden);
    return marks === undefined || flood === undefined ? match : marks + Array.from(flood, how).join('');
  });
}

/** Formats a character as its code point, e.g. `<U+202E>`. */
export function formatCodePoint(character: string): string {
  return `<U+${(character.codePointAt(0) ?? 0).toString(16).toUpperCase().padStart(4, '0')}>`;
}

/**
 * Counts the hidden characters of a line, except a carriage return at its end, a byte order mark at the start of the file,
 * and lone surrogates, which represent undecodable bytes.
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
