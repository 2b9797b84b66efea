import type { PromptPart } from '../../core/journal/events.ts';
import { defined } from '../../lib/guards.ts';
import { countTokens, rankOf, renderSections, sectionTokens, type PromptSection } from './prompt-section.ts';

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
