import { fence } from './markdown-text.ts';

/** The parts of a prompt that may be cut, from the most to the least important. */
const CUT_LAST_TO_FIRST = [
  'failure',
  'project',
  'context',
  'standards',
  'test standards',
  'failure log',
  'earlier work',
  'progress',
  'guidance',
  'vision',
  'stories',
  'specs',
] as const;

/** The parts that are always whole: they say what to do and how to answer. */
type NeverCut = 'before' | 'task' | 'story' | 'feedback' | 'questions' | 'left out' | 'rules' | 'answer';

export type SectionName = (typeof CUT_LAST_TO_FIRST)[number] | NeverCut;

/** One part of a prompt. */
export interface PromptSection {
  name: SectionName;
  /** The file of the repository that it was read from. */
  file?: string;
  /** The lines before the text; empty: none. */
  heading: string;
  text: string;
  /** Sets the text off as data. */
  fenced?: true;
  /** The end of the text is kept if it is cut, not the beginning. */
  keepsEnd?: true;
  /** Follows the section before it without a blank line. */
  tight?: true;
}

/** The importance of a section: higher ranks are kept first; undefined: it is never cut. */
export function rankOf({ name }: PromptSection): number | undefined {
  const index = CUT_LAST_TO_FIRST.findIndex((each) => each === name);
  return index < 0 ? undefined : CUT_LAST_TO_FIRST.length - index;
}

/** The prompt in Markdown. */
export function renderSections(sections: readonly PromptSection[]): string {
  const parts = sections.map(
    (section, index) => `${index === 0 ? '' : section.tight ? '\n' : '\n\n'}${render(section)}`,
  );
  return `${parts.join('')}\n`;
}

function render({ heading, text, fenced }: PromptSection): string {
  if (text === '') return heading;
  const body = fenced ? fence(text) : text;
  return heading === '' ? body : `${heading}\n${body}`;
}

/** An estimate of the number of tokens, the same for all models: four bytes each. */
export function countTokens(text: string): number {
  return Math.ceil(Buffer.byteLength(text) / 4);
}

/** The tokens of a section with its heading. */
export function sectionTokens(section: PromptSection): number {
  return countTokens(render(section));
}
