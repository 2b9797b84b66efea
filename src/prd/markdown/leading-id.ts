/** An id in front of a text. */
export interface LeadingId {
  id: string;
  /** The text behind it. */
  rest: string;
  /** Whether signs set the id off (`T1: …`, `#12 …`, `[#12] …`); without any it may be a word like SHA-256. */
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
];
const ID = new RegExp(`^(${FORMS.join('|')})([:.)]?)(?=\\s|$)`);
const BARE_NUMBER = /^(\d{1,9})[.:)](?=\s|$)/;
const BRACKETED = /^\[(#\d{1,9}|[A-Za-z]\w{0,19}-\w{0,20}\d[\w.]{0,20})\](?=[\s:]|$)/;
const DASH = /^(?:[-–—]|:)\s+/;

/** The id in front of a text, also in bold; undefined: there is none. A bare number is text. */
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
  const isSetOff = sign !== '' || DASH.test(rest) || id.startsWith('#') || (isBold && /^\d/.test(id));
  return toId(id, rest, isSetOff);
}

function toId(id = '', rest: string, certain: boolean): LeadingId {
  return { id, rest: rest.trim().replace(DASH, '').trim(), certain };
}

/** `**1.2 Title** and more` without its signs. */
function withoutBold(text: string): string {
  const end = text.indexOf('**', 2);
  return end < 0 ? text : text.slice(2, end) + text.slice(end + 2);
}

/** A name made of a text, for stories without an id: it stays when the line moves. */
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
