import type { Tone } from '../transcript/transcript-line.ts';

/**
 * What a state means for run, pull request and issue. `open`: it has not started or is under way; `done`: it needs no more
 * work; `stuck`: it needs a retry or a person; `out`: it was left out.
 */
export type StoryGroup = 'open' | 'done' | 'stuck' | 'out';

/**
 * The states of a story, for all who show them: a sign, a tone and a word, so that none needs color. `says`: the word as a
 * predicate of a sentence. Decisions that hold for several states depend on `group`.
 */
export const PROGRESS = {
  pending: { group: 'open', mark: '·', tone: 'quiet', word: 'pending', says: 'has not started' },
  in_progress: { group: 'open', mark: '»', tone: 'strong', word: 'in progress', says: 'is in progress' },
  passed: { group: 'done', mark: '✓', tone: 'good', word: 'passed', says: 'has landed' },
  failed: { group: 'stuck', mark: '✗', tone: 'bad', word: 'failed', says: 'has failed' },
  needs_human: { group: 'stuck', mark: '?', tone: 'warn', word: 'needs a human', says: 'needs a human' },
  /** Already done in the PRD. */
  done: { group: 'done', mark: '✓', tone: 'quiet', word: 'done before', says: 'was done before' },
  /** Excluded by the PRD, or not selected. */
  skipped: { group: 'out', mark: '-', tone: 'quiet', word: 'skipped', says: 'is skipped' },
  /** Excluded by a user. */
  cancelled: { group: 'out', mark: '-', tone: 'warn', word: 'cancelled', says: 'is cancelled' },
} as const satisfies Record<string, { group: StoryGroup; mark: string; tone: Tone; word: string; says: string }>;

export type StoryProgress = keyof typeof PROGRESS;

export const STORY_PROGRESS = Object.keys(PROGRESS) as [StoryProgress, ...StoryProgress[]];

/** Whether a story is in a state of this group. */
export function isIn(group: StoryGroup, { progress }: { progress: StoryProgress }): boolean {
  return PROGRESS[progress].group === group;
}
