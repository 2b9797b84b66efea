import type { Tone } from '../transcript/transcript-line.ts';

/**
 * What a state means for run, pull request and issue. `open`: it has not started or is under way; `done`: it needs no more
 * work; `stuck`: it needs a retry or a person; `out`: it was left out.
 */
export type StoryGroup = 'open' | 'done' | 'stuck' | 'out';

/**
 * What else holds in a state. `starts`: the story starts when those that it needs are done; `stops`: of a stuck one, the other stories
 * of the run do not start either, unless `run.on_failure` is `continue`; `undecided`: it may still land without a retry;
 * `retried`: a retry of the run starts it again, and not only one of the story; `begun`: the PRD shows it as in progress;
 * `measured`: the metrics count it, even if no story is in it.
 */
type StoryTrait = 'starts' | 'stops' | 'retried' | 'undecided' | 'begun' | 'measured';

interface ProgressRow {
  group: StoryGroup;
  mark: string;
  tone: Tone;
  word: string;
  /** The word as a predicate of a sentence. */
  says: string;
  /**
   * What the issue of the story shows. `open`: whether it runs or was stopped, as the run; `stopped`: so, if it was
   * attempted; `none`: nothing.
   */
  issue: 'landed' | 'failed' | 'running' | 'stopped' | 'open' | 'none';
  is: readonly StoryTrait[];
  /** An attempt can end with it. */
  verdict?: true;
  /** Of a stuck state: the story continues only after a person has acted; until then, its run ends as NEEDS_HUMAN. */
  asks?: StoryAsk;
}

/** What a person has to do about a story. */
interface StoryAsk {
  /** Its kind in the inbox. */
  kind: 'answer';
  /** What the story waits for. */
  waits: string;
  /** How the person begins. */
  first: { do: 'logs' | 'diff'; why: string };
}

/**
 * The states of a story, for all who show them: a sign, a tone and a word, so that none needs color. Decisions that hold for
 * several states depend on `group` and on `is`: when the story starts, how its run ends, what is shown.
 */
export const PROGRESS = {
  pending: {
    ...{ group: 'open', mark: '·', tone: 'quiet', word: 'pending', says: 'has not started' },
    ...{ issue: 'open', is: ['starts', 'measured', 'undecided'] },
  },
  in_progress: {
    ...{ group: 'open', mark: '»', tone: 'strong', word: 'in progress', says: 'is in progress' },
    ...{ issue: 'running', is: ['measured', 'undecided', 'begun'] },
  },
  passed: {
    ...{ group: 'done', mark: '✓', tone: 'good', word: 'passed', says: 'has passed' },
    ...{ issue: 'landed', is: ['measured'], verdict: true },
  },
  failed: {
    ...{ group: 'stuck', mark: '✗', tone: 'bad', word: 'failed', says: 'has failed' },
    ...{ issue: 'failed', is: ['stops', 'retried', 'measured', 'begun'], verdict: true },
  },
  needs_human: {
    ...{ group: 'stuck', mark: '?', tone: 'warn', word: 'needs a human', says: 'needs a human' },
    ...{ issue: 'failed', is: ['stops', 'retried', 'measured', 'undecided', 'begun'], verdict: true },
    asks: {
      ...{ kind: 'answer', waits: 'for an answer' },
      first: { do: 'logs', why: 'see what it did before it asked' },
    },
  },
  /** Already done in the PRD. */
  done: {
    ...{ group: 'done', mark: '✓', tone: 'quiet', word: 'done before', says: 'was done before' },
    ...{ issue: 'none', is: [] },
  },
  /** Excluded by the PRD, or not selected. */
  skipped: {
    ...{ group: 'out', mark: '-', tone: 'quiet', word: 'skipped', says: 'is skipped' },
    ...{ issue: 'stopped', is: [] },
  },
  /** Excluded by a user. */
  cancelled: {
    ...{ group: 'out', mark: '-', tone: 'warn', word: 'cancelled', says: 'is cancelled' },
    ...{ issue: 'stopped', is: ['retried'] },
  },
} as const satisfies Record<string, ProgressRow>;

export type StoryProgress = keyof typeof PROGRESS;

/** The result of an attempt. */
export type Verdict = {
  [Each in StoryProgress]: (typeof PROGRESS)[Each] extends { verdict: true } ? Each : never;
}[StoryProgress];

export const STORY_PROGRESS = Object.keys(PROGRESS) as [StoryProgress, ...StoryProgress[]];

/** Whether a story is in a state of this group. */
export function isIn(group: StoryGroup, { progress }: { progress: StoryProgress }): boolean {
  return PROGRESS[progress].group === group;
}

/** Whether a trait holds in a state. */
export function hasTrait(trait: StoryTrait, { progress }: { progress: StoryProgress }): boolean {
  const { is }: ProgressRow = PROGRESS[progress];
  return is.includes(trait);
}

/** What a person has to do about a story in a state; undefined: nothing. */
export function askOf({ progress }: { progress: StoryProgress }): StoryAsk | undefined {
  const { asks }: ProgressRow = PROGRESS[progress];
  return asks;
}
