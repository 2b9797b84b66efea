import type { PromptPart } from '../../core/journal/event-parts.ts';
import { defined } from '../../lib/guards.ts';
import { oneLine } from '../../lib/text.ts';

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
type NeverCut = 'before' | 'task' | 'story' | 'feedback' | 'questions' | 'messages' | 'left out' | 'rules' | 'answer';

type SectionName = (typeof CUT_LAST_TO_FIRST)[number] | NeverCut;

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
function rankOf({ name }: PromptSection): number | undefined {
  const index = CUT_LAST_TO_FIRST.findIndex((each) => each === name);
  return index < 0 ? undefined : CUT_LAST_TO_FIRST.length - index;
}

/** The prompt in Markdown. */
function renderSections(sections: readonly PromptSection[]): string {
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
function countTokens(text: string): number {
  return Math.ceil(Buffer.byteLength(text) / 4);
}

/** The tokens of a section with its heading. */
function sectionTokens(section: PromptSection): number {
  return countTokens(render(section));
}

/** A prompt within a limit of tokens. */
export interface BuiltPrompt {
  text: string;
  /** An estimate: four bytes each. */
  tokens: number;
  /** 0: no limit. */
  maxTokens: number;
  /** False if the parts that are never cut are longer than the limit. */
  fits: boolean;
  sections: PromptPart[];
}

/** Minimum length of a truncated section; shorter ones are dropped. */
const MIN_TOKENS = 50;
const CUT_MARK = '[…]';

/** Builds a prompt. Above the limit, the least important sections are cut, and the prompt names them before its rules. */
export function fitSections(sections: readonly PromptSection[], maxTokens: number): BuiltPrompt {
  const whole = new Map(sections.map((section) => [section, section]));
  if (maxTokens === 0 || countTokens(renderSections(sections)) <= maxTokens)
    return toBuiltPrompt(sections, whole, maxTokens);
  // The note needs room, too; how much depends on what is cut.
  let kept = chooseKept(sections, maxTokens, 0);
  for (const known of [kept, new Map<PromptSection, PromptSection>()]) {
    const built = describeKept(sections, kept, maxTokens);
    if (built.fits) return built;
    kept = chooseKept(sections, maxTokens, countTokens(describeCuts(sections, known, maxTokens)) + sections.length);
  }
  return describeKept(sections, kept, maxTokens);
}

/** The prompt with a note about what was cut, before its rules. */
function describeKept(
  sections: readonly PromptSection[],
  kept: ReadonlyMap<PromptSection, PromptSection>,
  maxTokens: number,
): BuiltPrompt {
  const note: PromptSection = { name: 'left out', heading: describeCuts(sections, kept, maxTokens), text: '' };
  const all = sections.flatMap((section) => (section.name === 'rules' ? [note, section] : [section]));
  const shown = all.flatMap((section): [PromptSection, PromptSection][] => {
    const rest = section === note ? note : kept.get(section);
    return rest === undefined ? [] : [[section, rest]];
  });
  return toBuiltPrompt(all, new Map(shown), maxTokens);
}

/** What is left of each section that is not cut as a whole. `reserve`: tokens that the note needs. */
function chooseKept(
  sections: readonly PromptSection[],
  maxTokens: number,
  reserve: number,
): Map<PromptSection, PromptSection> {
  const fixed = sections.filter((section) => rankOf(section) === undefined);
  const kept = new Map(fixed.map((section) => [section, section]));
  let left = maxTokens - countTokens(renderSections(fixed)) - reserve;
  const byRank = sections
    .filter((section) => rankOf(section) !== undefined)
    .sort((one, other) => (rankOf(other) ?? 0) - (rankOf(one) ?? 0));
  for (const section of byRank) {
    const rest = sectionTokens(section) <= left ? section : cutSection(section, left);
    if (rest === undefined) continue;
    kept.set(section, rest);
    left -= sectionTokens(rest);
  }
  return kept;
}

/** `shown`: what is left of each section. */
function toBuiltPrompt(
  given: readonly PromptSection[],
  shown: ReadonlyMap<PromptSection, PromptSection>,
  maxTokens: number,
): BuiltPrompt {
  const text = renderSections([...shown.values()]);
  const tokens = countTokens(text);
  const sections = given.map((section): PromptPart => {
    const { name, file } = section;
    const rest = shown.get(section);
    const there = rest === undefined ? 0 : sectionTokens(rest);
    const cut = sectionTokens(section) - there;
    return { name, ...defined({ file }), tokens: there, ...(cut > 0 ? { cut } : {}) };
  });
  return { text, tokens, maxTokens, fits: maxTokens === 0 || tokens <= maxTokens, sections };
}

/** Shortens the text of a section to a number of tokens, at the end of a line if one is near. */
function cutSection(section: PromptSection, tokens: number): PromptSection | undefined {
  const around = sectionTokens({ ...section, text: CUT_MARK });
  const bytes = Buffer.from(section.text);
  const room = (tokens - around - 1) * 4;
  if (tokens < MIN_TOKENS || room <= 0) return undefined;
  // A cut character at either end becomes a replacement character, which is removed.
  const part = section.keepsEnd ? bytes.subarray(-room) : bytes.subarray(0, room);
  const text = part.toString('utf8').replace(/^\uFFFD+|\uFFFD+$/g, '');
  const lineEnd = section.keepsEnd ? text.indexOf('\n') : text.lastIndexOf('\n');
  const isNear = section.keepsEnd ? lineEnd >= 0 && lineEnd < text.length / 4 : lineEnd > (text.length * 3) / 4;
  if (section.keepsEnd) return { ...section, text: `${CUT_MARK}\n${isNear ? text.slice(lineEnd + 1) : text}` };
  return { ...section, text: `${isNear ? text.slice(0, lineEnd) : text}\n${CUT_MARK}` };
}

/** Says what was cut, and that the files have the rest. */
function describeCuts(
  sections: readonly PromptSection[],
  kept: ReadonlyMap<PromptSection, PromptSection>,
  maxTokens: number,
): string {
  const lines = sections.flatMap((section) => {
    const rest = kept.get(section);
    if (rest === section || rankOf(section) === undefined) return [];
    const what = section.file === undefined ? section.name : `${section.name} (${section.file})`;
    const all = sectionTokens(section);
    const part = section.keepsEnd ? 'last' : 'first';
    return [
      `- ${what}: ${rest === undefined ? `all of its ${all} tokens` : `all but the ${part} ${sectionTokens(rest)} of ${all} tokens`}`,
    ];
  });
  return `## Left out
This prompt has at most ${maxTokens} tokens, so these parts are not in it. You can read the files in the current folder:
${lines.join('\n')}`;
}

/** Formats texts as a Markdown list. */
export function bulletList(items: readonly string[]): string {
  return items.map((item) => `- ${item.trim().replaceAll('\n', '\n  ')}`).join('\n');
}

/** Quotes a name on one line. */
export function quoteName(text: string): string {
  return `"${text.replace(/\s+/g, ' ').trim()}"`;
}

/** A code span is delimited by more backticks than its text has in a row. */
export function codeSpan(text: string): string {
  const ticks = '`'.repeat(longestTicks(text) + 1);
  const pad = /^`|`$/.test(text) ? ' ' : '';
  return `${ticks}${pad}${joinLines(text)}${pad}${ticks}`;
}

/** A fence is delimited by more backticks than its text has in a row, so that the text cannot end it. */
export function fence(text: string): string {
  const ticks = '`'.repeat(Math.max(3, longestTicks(text) + 1));
  return `${ticks}\n${text}\n${ticks}`;
}

/** A text of a user as data below a heading. */
export function quoteDocument(heading: string, text: string): string {
  return `## ${oneLine(heading)}\n${fence(text.trimEnd())}`;
}

function joinLines(text: string): string {
  const lines = text.split('\n').map((line) => line.trim());
  return lines.filter((line) => line !== '').join(' ; ');
}

function longestTicks(text: string): number {
  return (text.match(/`+/g) ?? []).reduce((longest, run) => Math.max(longest, run.length), 0);
}
