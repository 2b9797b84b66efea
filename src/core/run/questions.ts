import { askOf, type StoryProgress } from './progress.ts';
import type { FailureCause } from '../failure/failure.ts';
import type { Feedback, KeptWork } from '../review/feedback.ts';

/**
 * What happens to a question that is not answered in time, as values of `answers.default`. `help`: of the setting; `says`: as
 * a sentence before the deadline; `expired`: what logs say of the story afterwards. The first option is an answer, so its
 * question does not expire.
 */
export const UNANSWERED = {
  'first-option': {
    help: 'takes the first option that the agent proposed, or fails the story if there is none',
    says: 'halo takes option 1',
  },
  fail: { help: 'fails it', says: 'the story fails', expired: 'fails' },
  skip: { help: 'continues without it', says: 'the run continues without the story', expired: 'is left out' },
} as const satisfies Record<string, { help: string; says: string; expired?: string }>;

export type Unanswered = keyof typeof UNANSWERED;

export const UNANSWERED_CHOICES = Object.keys(UNANSWERED) as [Unanswered, ...Unanswered[]];

/** What belongs to the question with which an attempt ended, in addition to its text. */
export interface AskedQuestion {
  /** The proposed answers. */
  options?: string[];
  /** Why halo asks, and not the agent. */
  cause?: FailureCause;
  /** ISO 8601: when halo applies `unanswered`. */
  until?: string;
  unanswered?: Unanswered;
}

/** A question with which an attempt at a story ended, and a person's answer. */
export interface AnsweredQuestion {
  attempt: number;
  /** The summary of the attempt. */
  question: string;
  text: string;
  /** The person who answered. */
  by: string;
  /** ISO 8601 */
  at: string;
  options?: string[];
  /** Why halo asked, and not the agent. */
  cause?: FailureCause;
  /** The option that was chosen, from 1. */
  option?: number;
  /** No person answered in time, so halo chose the first option. */
  default?: true;
}

/** What people said about a story, and the work that the next attempt continues with. */
export interface StoryReplies {
  /** About the question that the story asks. */
  question?: AskedQuestion;
  /** The questions of the agent that users have answered, oldest first. */
  answered?: AnsweredQuestion[];
  /** What users wanted changed in its commits, oldest first. */
  feedback?: Feedback[];
  /** The work of an earlier attempt with which the next one continues. */
  kept?: KeptWork;
}

/** The options of the question that a story asks, and what happens without an answer, a line each. */
export function questionLines(story: StoryReplies & { progress: StoryProgress; held?: unknown }): string[] {
  const { options = [], until, unanswered = 'fail' } = story.question ?? {};
  if (!isQuestion(story)) return [];
  const then = unanswered === 'first-option' && options.length === 0 ? 'fail' : unanswered;
  const limit = until === undefined ? [] : [`Without an answer until ${until}, ${UNANSWERED[then].says}.`];
  return [...options.map((option, index) => `${index + 1}. ${option}`), ...limit];
}

/** Whether the last attempt at a story left work when it asked a question. */
export function hasLeftWork({ kept, attempts }: Pick<StoryReplies, 'kept'> & { attempts: number }): boolean {
  return kept?.attempt === attempts;
}

/** Whether stories of a run can wait for a person: not those of a task, nor after the run was cancelled. */
export function asksPeople({ task, stopReason }: Omit<RunWithQuestions, 'stories'>): boolean {
  return task === undefined && stopReason !== 'USER_ABORT';
}

/** Whether a story of a run can still be answered. */
export function waitsForAnswer(run: RunWithQuestions): boolean {
  return asksPeople(run) && run.stories.some(isQuestion);
}

/** When halo answers a question of a run itself, ISO 8601; undefined if it answers none. */
export function nextDeadline(run: RunWithQuestions): string | undefined {
  if (!waitsForAnswer(run)) return undefined;
  const times = run.stories.filter(isQuestion).flatMap(({ question }) => question?.until ?? []);
  return times.sort()[0];
}

/** Whether a run has ended and no deadline can reopen it. */
export function isOver(run: RunWithQuestions & { status: string }): boolean {
  return run.status === 'ended' && nextDeadline(run) === undefined;
}

interface RunWithQuestions {
  stories: readonly (StoryReplies & { progress: StoryProgress; held?: unknown })[];
  task?: true;
  stopReason?: string;
}

/** Whether a story ended with a question to a person. */
export function isQuestion({ progress, held }: { progress: StoryProgress; held?: unknown }): boolean {
  return askOf({ progress })?.kind === 'answer' && held === undefined;
}
