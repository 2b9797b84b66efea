import { parseStruckThrough, withoutStrike } from '../../story/read-texts.ts';
import { findLeadingId } from '../leading-id.ts';
import type { Line } from '../line.ts';
import type { OutlineSection } from '../outline.ts';

/** A heading that is, or may be, a story, with the lines below it. */
export interface StoryHeading {
  heading: Line;
  section: OutlineSection;
  /** Undefined: it has none. */
  id: string | undefined;
  title: string;
  /** True if it is struck through. */
  isDropped: boolean;
  /** The progress mark in the heading. */
  sign: HeadingSign | undefined;
  /** Its lines, including those of subheadings that are not stories. */
  lines: Line[];
}

/** ✅, `[DONE]`, or a checkbox at the beginning, with the offset of its mark in the file. */
export type HeadingSign =
  | { kind: 'done'; text: '✅' | '[DONE]' }
  | { kind: 'box'; box: { mark: string; offset: number } };

/** Reads a heading as a story: `US-001: title`, `[x] Task 3 — T003`, `Story 4: title [DONE]`, `title`. */
export function readHeading(heading: Line): Pick<StoryHeading, 'id' | 'title' | 'isDropped' | 'sign'> {
  const { text, sign } = splitSign(heading);
  const { title, isDropped } = parseStruckThrough(text);
  const plain = withoutStrike(title);
  const found = readId(plain);
  if (found === undefined) return { id: undefined, title, isDropped, sign };
  const inner = parseStruckThrough(found.title);
  return { id: found.id, title: inner.title, isDropped: isDropped || plain !== title || inner.isDropped, sign };
}

function readId(plain: string): { id: string; title: string } | undefined {
  const leading = findLeadingId(plain);
  if (leading !== undefined) return { id: leading.id, title: leading.rest === '' ? leading.id : leading.rest };
  const label = /^((?:user story|story|task|feature|issue)\s\d{1,6}(?:\.\d{1,6}){0,3})\s?(?:[:.—–-]\s?|$)(.*)$/iu.exec(
    plain,
  );
  if (label === null) return undefined;
  const [, name = '', rest = ''] = label;
  const inner = findLeadingId(rest.trim());
  if (inner !== undefined) return { id: inner.id, title: inner.rest === '' ? name : inner.rest };
  return { id: name.toLowerCase().replace(/\s+/g, '-'), title: rest.trim() === '' ? name : rest.trim() };
}

const DONE = String.raw`\[(?:DONE|COMPLETED?)\]`;
const DONE_SIGN = new RegExp(String.raw`^${DONE}\s+|(?<!\s)\s+${DONE}$`, 'i');
const BOX = /^\[([ xX])\]\s+/;

/** Separates the progress mark of a heading from its text. */
function splitSign({ text, raw, offset }: Line): { text: string; sign: HeadingSign | undefined } {
  const plain = text.replace(/^[✅☑️✔️\s]+/u, '').replace(/(?<![✅☑️✔️\s])[✅☑️✔️\s]+$/u, '');
  if (text.includes('✅')) return { text: plain, sign: { kind: 'done', text: '✅' } };
  if (DONE_SIGN.test(plain)) return { text: plain.replace(DONE_SIGN, ''), sign: { kind: 'done', text: '[DONE]' } };
  const [all, mark] = BOX.exec(plain) ?? [];
  if (all === undefined || mark === undefined) return { text: plain, sign: undefined };
  return {
    text: plain.slice(all.length),
    sign: { kind: 'box', box: { mark, offset: offset + raw.indexOf('[') + 1 } },
  };
}
