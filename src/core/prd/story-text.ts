import type { ContextText, Prd, Story } from './prd.ts';
import { isTestsFirstKey } from './tests-first-field.ts';
import { truncateText, toDetails, fitDetails, leafTexts, type CutDetail, type Detail } from './story-details.ts';

/** Maximum characters of each part of a story, and of its PRD's context, in a prompt. */
export const MAX_TEXT_LENGTH = {
  description: 40_000,
  acceptance: 40_000,
  notes: 20_000,
  details: 40_000,
  context: 20_000,
};

/** The texts of a story for its prompt. */
interface StoryText {
  description: string;
  acceptance: string[];
  notes: string;
  /** Other fields of the story. */
  details: Detail[];
  /** Texts that were truncated. */
  cut: CutDetail[];
}

/** The texts of a story, truncated for the prompt. */
export function storyText(story: Pick<Story, 'title' | 'description' | 'acceptance' | 'notes' | 'extra'>): StoryText {
  const criteria = fitDetails(
    story.acceptance.map((text) => ({ label: 'acceptance', text })),
    MAX_TEXT_LENGTH.acceptance,
  );
  const details = fitDetails(toDetails(withoutRepetition(story)), MAX_TEXT_LENGTH.details);
  return {
    description: truncateText(story.description.trim(), MAX_TEXT_LENGTH.description),
    acceptance: criteria.shown.map(({ text }) => text),
    // Newer notes are at the end.
    notes: story.notes.trim().slice(-MAX_TEXT_LENGTH.notes),
    details: details.shown,
    cut: [
      ...cutOne('description', story.description.trim()),
      ...sumUp('acceptance', criteria.cut),
      ...cutOne('notes', story.notes.trim()),
      ...details.cut,
    ],
  };
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
function withoutRepetition({ title, description, acceptance, notes, extra }: Parameters<typeof storyText>[0]) {
  const said = new Set([title, description, ...description.split('\n\n'), ...acceptance, notes].map(bare));
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

function cutOne(label: keyof typeof MAX_TEXT_LENGTH, { length }: string): CutDetail[] {
  return length > MAX_TEXT_LENGTH[label] ? [{ label, length, kept: MAX_TEXT_LENGTH[label] }] : [];
}

function sumUp(label: string, cut: CutDetail[]): CutDetail[] {
  if (cut.length === 0) return [];
  const sum = (values: number[]) => values.reduce((total, value) => total + value, 0);
  return [{ label, length: sum(cut.map(({ length }) => length)), kept: sum(cut.map(({ kept }) => kept)) }];
}
