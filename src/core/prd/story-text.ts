import { cutText, detailsOf, fitDetails, leavesOf, type CutDetail, type Detail } from './story-details.ts';
import type { ContextText, Prd, Story } from './prd.ts';

/** Most characters of each part of a story, and of what its PRD says besides, that a prompt holds. */
export const MOST_TEXT = { description: 40_000, acceptance: 40_000, notes: 20_000, details: 40_000, context: 20_000 };

/** What of a story's texts goes into its prompt. */
export interface StoryText {
  description: string;
  acceptance: string[];
  notes: string;
  /** What else the story says. */
  details: Detail[];
  /** What is longer than a prompt holds. */
  cut: CutDetail[];
}

/** The texts of a story, each as long as a prompt holds it. */
export function storyText(story: Pick<Story, 'title' | 'description' | 'acceptance' | 'notes' | 'extra'>): StoryText {
  const criteria = fitDetails(
    story.acceptance.map((text) => ({ label: 'acceptance', text })),
    MOST_TEXT.acceptance,
  );
  const details = fitDetails(detailsOf(unsaid(story)), MOST_TEXT.details);
  return {
    description: cutText(story.description.trim(), MOST_TEXT.description),
    acceptance: criteria.shown.map(({ text }) => text),
    // Loops write what they found at the end.
    notes: story.notes.trim().slice(-MOST_TEXT.notes),
    details: details.shown,
    cut: [
      ...cutOne('description', story.description.trim()),
      ...sumUp('acceptance', criteria.cut),
      ...cutOne('notes', story.notes.trim()),
      ...details.cut,
    ],
  };
}

/** What a PRD says besides its description to a story, as long as a prompt holds it. */
export function contextText(prd: Partial<Pick<Prd, 'context'>>, storyId: string): Fitted {
  const about = (prd.context ?? []).filter(({ stories }) => stories === undefined || stories.includes(storyId));
  return fitDetails(about, MOST_TEXT.context);
}

interface Fitted {
  shown: ContextText[];
  cut: CutDetail[];
}

/** Fields whose texts all stand elsewhere in the story, such as the objects that its criteria were taken from, say nothing new. */
function unsaid({ title, description, acceptance, notes, extra }: Parameters<typeof storyText>[0]) {
  const said = new Set([title, description, ...description.split('\n\n'), ...acceptance, notes].map(bare));
  const isSaid = (value: unknown) => {
    const leaves = typeof value === 'object' ? leavesOf(value) : [];
    return leaves.length > 0 && leaves.every((leaf) => said.has(bare(leaf)));
  };
  return Object.fromEntries(Object.entries(extra).filter(([, value]) => !isSaid(value)));
}

function bare(text: string): string {
  return text.replace(/\s+/g, ' ').trim();
}

function cutOne(label: keyof typeof MOST_TEXT, { length }: string): CutDetail[] {
  return length > MOST_TEXT[label] ? [{ label, length, kept: MOST_TEXT[label] }] : [];
}

function sumUp(label: string, cut: CutDetail[]): CutDetail[] {
  if (cut.length === 0) return [];
  const sum = (values: number[]) => values.reduce((total, value) => total + value, 0);
  return [{ label, length: sum(cut.map(({ length }) => length)), kept: sum(cut.map(({ kept }) => kept)) }];
}
