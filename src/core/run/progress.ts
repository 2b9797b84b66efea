import type { Tone } from '../transcript/transcript-line.ts';

/**
 * The states of a story, for all who show them: a sign, a tone and a word, so that none needs color. `says`: the word as a
 * predicate of a sentence.
 */
export const PROGRESS = {
  pending: { mark: '·', tone: 'quiet', word: 'pending', says: 'has not started' },
  in_progress: { mark: '»', tone: 'strong', word: 'in progress', says: 'is in progress' },
  passed: { mark: '✓', tone: 'good', word: 'passed', says: 'has landed' },
  failed: { mark: '✗', tone: 'bad', word: 'failed', says: 'has failed' },
  needs_human: { mark: '?', tone: 'warn', word: 'needs a human', says: 'needs a human' },
  /** Already done in the PRD. */
  done: { mark: '✓', tone: 'quiet', word: 'done before', says: 'was done before' },
  /** Excluded by the PRD, or not selected. */
  skipped: { mark: '-', tone: 'quiet', word: 'skipped', says: 'is skipped' },
  /** Excluded by a user. */
  cancelled: { mark: '-', tone: 'warn', word: 'cancelled', says: 'is cancelled' },
} as const satisfies Record<string, { mark: string; tone: Tone; word: string; says: string }>;

export type StoryProgress = keyof typeof PROGRESS;

export const STORY_PROGRESS = Object.keys(PROGRESS) as [StoryProgress, ...StoryProgress[]];
