/** A heading with the lines below it, up to the next heading of any level. */
export interface OutlineSection {
  /** Undefined: the text before the first heading. */
  heading: Line | undefined;
  /** The enclosing section. */
  parent: OutlineSection | undefined;
  /** True for the title of the file. */
  isTitle: boolean;
  lines: Line[];
}

/** Returns the sections of a file in order; the first one has no heading. */
export function buildOutline(lines: Line[]): OutlineSection[] {
  const tops = lines.filter(({ kind, level }) => kind === 'heading' && level === 1);
  const title = tops.length === 1 ? tops[0] : undefined;
  const sections: OutlineSection[] = [{ heading: undefined, parent: undefined, isTitle: false, lines: [] }];
  for (const line of lines) {
    let last = sections.at(-1);
    if (line.kind !== 'heading') {
      last?.lines.push(line);
      continue;
    }
    while (last !== undefined && (last.heading === undefined || last.heading.level >= line.level)) last = last.parent;
    sections.push({ heading: line, parent: last, isTitle: line === title, lines: [] });
  }
  return sections;
}

/** Returns a section and its enclosing sections, innermost first. */
export function ancestorsOf(section: OutlineSection): OutlineSection[] {
  const chain: OutlineSection[] = [];
  for (let at: OutlineSection | undefined = section; at !== undefined; at = at.parent) chain.push(at);
  return chain;
}

/** In characters. */
const MAX_HEADING_LENGTH = 300;

/** The headings of a section and its enclosing sections, nearest first, without the title of the file and their progress. */
export function headingsOf(section: OutlineSection): string[] {
  return ancestorsOf(section).flatMap(({ heading, isTitle }) =>
    heading === undefined || isTitle ? [] : [splitSign(heading).text.slice(0, MAX_HEADING_LENGTH)],
  );
}

/** Joins the headings above a story into one name, outermost first; undefined if there are none. */
export function groupOf(headings: readonly string[]): string | undefined {
  return headings.length === 0 ? undefined : [...headings].reverse().join(' › ');
}

/** `**Name:** value` at the beginning of a line. */
export interface Label {
  name: string;
  value: string;
}

/** One line of a Markdown file; comments in it are blanked. */
export interface Line {
  kind: 'heading' | 'item' | 'text' | 'code' | 'blank';
  /** The text without heading marks, bullet, checkbox and outer spaces; for code, the whole line. */
  text: string;
  /** The original line without trailing spaces. */
  raw: string;
  /** Counts from 1. */
  number: number;
  /** Offset of the line in the file, and after its last character. */
  offset: number;
  end: number;
  /** Columns before the first character; a tab counts as four. */
  indent: number;
  /** Where the text begins in `raw`: after spaces, bullet and checkbox. */
  content: number;
  /** The item that the line is indented below, or continues. */
  parent: Line | undefined;
  /** Heading level from 1 to 6; 0 for other lines. */
  level: number;
  /** The character in the checkbox of an item, and its offset. */
  box: { mark: string; offset: number } | undefined;
  /** Its labels, once they have been read. */
  labels?: Label[];
  /** Whether it introduces criteria, once that has been asked. */
  isCriteria?: boolean;
  /** True for the optional tasks of Kiro, `- [ ]* text`. */
  isOptional?: true;
  /** The character of a checkbox that a bullet stands for, without being one in the file. */
  impliedMark?: string;
}

/** True if a line belongs to a checkbox above it. */
export function isBelowBox(line: Line): boolean {
  for (let at = line.parent; at !== undefined; at = at.parent) if (at.box !== undefined) return true;
  return false;
}

/** ✅, `[DONE]`, or a checkbox at the beginning, with the offset of its mark in the file. */
export type HeadingSign =
  | { kind: 'done'; text: '✅' | '[DONE]' }
  | { kind: 'box'; box: { mark: string; offset: number } };

const DONE = String.raw`\[(?:DONE|COMPLETED?)\]`;
const DONE_SIGN = new RegExp(String.raw`^${DONE}\s+|(?<!\s)\s+${DONE}$`, 'i');
const BOX = /^\[([ xX])\]\s+/;

/** Separates the progress mark of a heading from its text. */
export function splitSign({ text, raw, offset }: Line): { text: string; sign: HeadingSign | undefined } {
  const plain = text.replace(/^[✅☑️✔️\s]+/u, '').replace(/(?<![✅☑️✔️\s])[✅☑️✔️\s]+$/u, '');
  const unboxed = plain.replace(BOX, '');
  if (text.includes('✅')) return { text: unboxed, sign: { kind: 'done', text: '✅' } };
  if (DONE_SIGN.test(plain))
    return { text: plain.replace(DONE_SIGN, '').replace(BOX, ''), sign: { kind: 'done', text: '[DONE]' } };
  const [all, mark] = BOX.exec(plain) ?? [];
  if (all === undefined || mark === undefined) return { text: plain, sign: undefined };
  return {
    text: plain.slice(all.length),
    sign: { kind: 'box', box: { mark, offset: offset + raw.indexOf('[') + 1 } },
  };
}
