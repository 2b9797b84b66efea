import { filledTexts, TEXT_FIELD_NAMES, TEXT_FIELDS, type StoryTexts } from './fields.ts';
import type { ContextText, Prd, Story } from './prd.ts';
import { isTestsFirstKey } from './tests-first-field.ts';
import { truncateText, toDetails, fitDetails, leafTexts, type CutDetail, type Detail } from './story-details.ts';

/** Maximum characters of each part of a story, and of its PRD's context, in a prompt. */
export const MAX_TEXT_LENGTH = {
  description: 40_000,
  acceptance: 40_000,
  details: 40_000,
  context: 20_000,
};

/** Whether the end of a text with this label is kept when it is cut. */
export function isCutAtStart(label: string): boolean {
  return TEXT_FIELD_NAMES.some((name) => name === label && TEXT_FIELDS[name].keeps === 'end');
}

/** The texts of a story for its prompt. */
interface StoryText {
  description: string;
  acceptance: string[];
  /** Its optional texts under their titles, without empty ones. */
  texts: Detail[];
  /** Other fields of the story. */
  details: Detail[];
  /** Texts that were truncated. */
  cut: CutDetail[];
}

/** The texts of a story, truncated for the prompt. */
export function storyText(
  story: Pick<Story, 'title' | 'description' | 'acceptance' | 'extra'> & Partial<StoryTexts>,
): StoryText {
  const criteria = fitDetails(
    story.acceptance.map((text) => ({ label: 'acceptance', text })),
    MAX_TEXT_LENGTH.acceptance,
  );
  const details = fitDetails(toDetails(withoutRepetition(story)), MAX_TEXT_LENGTH.details);
  return {
    description: truncateText(story.description.trim(), MAX_TEXT_LENGTH.description),
    acceptance: criteria.shown.map(({ text }) => text),
    texts: storyTexts(story),
    details: details.shown,
    cut: [
      ...cutAt('description', story.description.trim(), MAX_TEXT_LENGTH.description),
      ...sumUp('acceptance', criteria.cut),
      ...TEXT_FIELD_NAMES.flatMap((name) => cutAt(name, story[name]?.trim() ?? '', TEXT_FIELDS[name].limit)),
      ...details.cut,
    ],
  };
}

/** The optional texts of a story under their titles, cut to their limits; empty ones are omitted. */
export function storyTexts(story: Partial<StoryTexts>): Detail[] {
  return TEXT_FIELD_NAMES.flatMap((name) => {
    const { title, limit, keeps } = TEXT_FIELDS[name];
    const text = story[name]?.trim() ?? '';
    const shown = keeps === 'end' ? text.slice(-limit) : truncateText(text, limit);
    return text === '' ? [] : [{ label: title, text: shown }];
  });
}

/** The context texts of a PRD that apply to a story, truncated for the prompt. */
export function contextText(prd: Pick<Prd, 'context'>, storyId: string): Fitted {
  const about = prd.context.filter(({ label, stories }) =>
    stories === undefined ? !isTestsFirstKey(label) : stories.includes(storyId),
  );
  return fitDetails(about, MAX_TEXT_LENGTH.context);
}

interface Fitted {
  shown: ContextText[];
  cut: CutDetail[];
}

/** Omits fields whose texts all occur elsewhere in the story, such as the objects that its criteria were taken from. */
function withoutRepetition(story: Parameters<typeof storyText>[0]) {
  const { title, description, acceptance, extra } = story;
  const said = new Set(
    [title, description, ...description.split('\n\n'), ...acceptance, ...Object.values(filledTexts(story))].map(bare),
  );
  const isSaid = (value: unknown) => {
    const leaves = typeof value === 'object' ? leafTexts(value) : [];
    return leaves.length > 0 && leaves.every((leaf) => said.has(bare(leaf)));
  };
  // A setting, which is no text for the agent.
  return Object.fromEntries(Object.entries(extra).filter(([key, value]) => !isTestsFirstKey(key) && !isSaid(value)));
}

function bare(text: string): string {
  return text.replace(/\s+/g, ' ').trim();
}

function cutAt(label: string, { length }: string, limit: number): CutDetail[] {
  return length > limit ? [{ label, length, kept: limit }] : [];
}

function sumUp(label: string, cut: CutDetail[]): CutDetail[] {
  if (cut.length === 0) return [];
  const sum = (values: number[]) => values.reduce((total, value) => total + value, 0);
  return [{ label, length: sum(cut.map(({ length }) => length)), kept: sum(cut.map(({ kept }) => kept)) }];
}
