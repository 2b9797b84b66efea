/** An id at the beginning of a text. */
export interface LeadingId {
  id: string;
  /** The text after it. */
  rest: string;
  /** True if punctuation marks it as an id (`T1: …`, `#12 …`, `[#12] …`); otherwise it may be a word like SHA-256. */
  certain: boolean;
}

const FORMS = [
  String.raw`#\d{1,9}`,
  // US-001, P0-1.2
  String.raw`[A-Z][A-Za-z]{0,9}\d{0,3}-\d{1,9}(?:[.-]\d{1,9}){0,6}`,
  // T001, T1.2
  String.raw`[A-Z][A-Za-z]{0,3}\d{1,9}(?:\.\d{1,9}){0,6}`,
  // 1.2, 10.1.3
  String.raw`\d{1,4}(?:\.\d{1,4}){1,6}`,
  // 01-02 and 01-cart, only if they are set off: 10-20 and 2-way may be words
  String.raw`\d{1,3}-\d{1,3}`,
  String.raw`[A-Z]{0,3}\d{1,4}-[a-z][a-z0-9]{0,29}(?:-[a-z0-9]{1,30}){0,9}`,
];
const SLUG = /-[a-z]|^\d+-/;
const ID = new RegExp(`^(${FORMS.join('|')})([:.)]?)(?=\\s|$)`);
const BARE_NUMBER = /^(\d{1,9})[.:)](?=\s|$)/;
const BRACKETED = /^\[(#\d{1,9}|[A-Za-z]\w{0,19}-\w{0,20}\d[\w.]{0,20})\](?=[\s:]|$)/;
const DASH = /^(?:[-–—]|:)\s+/;

/** Finds the id at the beginning of a text, bold or not; undefined if there is none. A bare number is text. */
export function findLeadingId(text: string): LeadingId | undefined {
  const isBold = text.startsWith('**');
  const plain = isBold ? withoutBold(text) : text;
  const bracketed = BRACKETED.exec(plain);
  if (bracketed !== null) return toId(bracketed[1], plain.slice(bracketed[0].length), true);
  const number = BARE_NUMBER.exec(plain);
  if (number !== null) return toId(number[1], plain.slice(number[0].length), true);
  const match = ID.exec(plain);
  if (match === null) return undefined;
  const [all, id = '', sign = ''] = match;
  const rest = plain.slice(all.length).trim();
  if (SLUG.test(id)) {
    const isAlone = sign !== '' || DASH.test(rest) || (isBold && text.startsWith('**', 2 + all.length));
    return isAlone ? toId(id, rest, true) : undefined;
  }
  const isSetOff = sign !== '' || DASH.test(rest) || id.startsWith('#') || (isBold && /^\d/.test(id));
  return toId(id, rest, isSetOff);
}

function toId(id = '', rest: string, certain: boolean): LeadingId {
  return { id, rest: rest.trim().replace(DASH, '').trim(), certain };
}

/** Removes the emphasis from `**1.2 Title** and more`. */
function withoutBold(text: string): string {
  const end = text.indexOf('**', 2);
  return end < 0 ? text : text.slice(2, end) + text.slice(end + 2);
}

/** Generates an id from a text, for stories without one; independent of the position. */
export function slugOf(text: string): string {
  const slug = text
    .slice(0, 400)
    .normalize('NFC')
    .toLowerCase()
    .replace(/[^\p{L}\p{N}]+/gu, '-')
    .replace(/^-|-$/g, '')
    .slice(0, 60)
    .replace(/-$/, '');
  return slug === '' ? 'item' : slug;
}
