import { plainReason, reasonWords } from '../core/failure/plain-reason.ts';
import { PROGRESS } from '../core/run/progress.ts';
import { openFeedback } from '../core/run/reviewed-story.ts';
import {
  attemptLimit,
  isSelected,
  isUnchanged,
  unmetDependencies,
  type RunState,
  type StoryState,
  type Waiting,
} from '../core/run/state.ts';
import { formatElapsed, msBetween } from '../core/text/format-elapsed.ts';
import { safeLine } from '../core/text/safe-text.ts';
import type { Tone } from '../core/transcript/transcript-line.ts';

/** How something is shown: a sign, a tone and a few words, so that none needs color. */
export interface Words {
  mark: string;
  tone: Tone;
  text: string;
}

/** A cell of a table in a terminal. */
export function cellOf({ mark, tone, text }: Words): { text: string; tone: Tone } {
  return { text: `${mark} ${text}`, tone };
}

/** The state of a story in words, on every surface. `short`: the first words, for places without room. */
export function storyWords(story: StoryState, run: RunState, now: string): Words & { short: string } {
  const isOpen = run.status !== 'ended';
  const { mark, tone } = PROGRESS[story.progress];
  const [short, more = ''] = textOf(story, run, now);
  const words = { text: `${short}${more}`, short };
  if (isOpen && story.waiting !== undefined) return { mark: '…', tone: 'warn', ...words };
  if (story.progress === 'in_progress' && !isWorking(story, run)) return { mark: '-', tone: 'warn', ...words };
  return { mark, tone, ...words };
}

/** Whether an attempt at a story runs: it does not wait, and no pause, end of its worker or end of the run has stopped it. */
export function isWorking({ progress, attemptAt, waiting }: StoryState, { status }: RunState): boolean {
  return progress === 'in_progress' && attemptAt !== undefined && waiting === undefined && status !== 'ended';
}

function textOf(story: StoryState, run: RunState, now: string): [short: string, more?: string] {
  const isOpen = run.status !== 'ended';
  const { word } = PROGRESS[story.progress];
  if (isOpen && story.waiting !== undefined) return waitText(story.waiting, now);
  switch (story.progress) {
    case 'in_progress':
      if (!isOpen) return ['interrupted'];
      if (!isWorking(story, run))
        return ['interrupted', run.paused === undefined ? ' until a worker continues it' : ' until it is resumed'];
      return [story.phase ?? 'starting', awaitsText(story)];
    case 'failed':
      return [word, `: ${failureWords(story)}`];
    case 'needs_human':
      return story.held === undefined ? [word] : ['waiting', ' for approval'];
    case 'pending':
      if (story.approved !== undefined) return ['approved', ', not landed'];
      if (openFeedback(story) !== undefined && isOpen) return ['sent back'];
      return shortened(dependencyText(story, run)) ?? [word];
    case 'passed':
      if (run.dry) return [run.planning ? 'planned' : 'described'];
      return isUnchanged(story) ? ['no change', ' needed'] : [word];
    case 'skipped':
      return [isSelected(story, run) ? word : 'not selected'];
    default:
      return [word];
  }
}

/** The services for which the command of a story waits. */
function awaitsText({ awaits = [] }: StoryState): string {
  return awaits.length === 0 ? '' : `, waiting for ${safeLine(awaits.join(', '), MAX_NEEDS_LENGTH)}`;
}

/** Why a story failed, behind the word `failed`. */
export function failureWords({ stopReason, lastFailure, failedCommand }: StoryState): string {
  return reasonWords(plainReason(stopReason ?? 'UNKNOWN_ERROR', lastFailure), failedCommand);
}

/** A column has room for one or two ids. */
function shortened(text: [string, string] | undefined): [string, string] | undefined {
  return text && [text[0], ` ${safeLine(text[1].trim(), MAX_NEEDS_LENGTH)}`];
}

/**
 * What a table shows of a story in addition to its state; `-` if there is none. `ofLimit`: e.g. `1/3` attempts; `time`: of a
 * story that works, the time of its phase, else from its first attempt to its end; `attemptTime`: of the running attempt.
 */
export function storyFigures(
  story: StoryState,
  run: RunState,
  now: string,
): Record<'attempts' | 'ofLimit' | 'time' | 'attemptTime' | 'commit', string> {
  const { attempts, attemptAt, commit } = story;
  const isRunning = isWorking(story, run);
  return {
    attempts: attempts === 0 ? '-' : String(attempts),
    ofLimit: attempts === 0 ? '-' : `${attempts}/${attemptLimit(story, run)}`,
    time: isRunning ? timeBetween(story.phaseAt ?? attemptAt, now) : pastTime(story, run),
    attemptTime: isRunning ? timeBetween(attemptAt, now) : '-',
    commit: commit?.slice(0, 7) ?? '-',
  };
}

/**
 * Of a story without an attempt that runs; one that was interrupted counts no time until it continues, or until the end of
 * its run.
 */
function pastTime({ progress, startedAt, endedAt, waiting }: StoryState, run: RunState): string {
  const end = progress === 'in_progress' ? run.endedAt : endedAt;
  const isOver = run.status === 'ended' || waiting === undefined;
  return isOver && progress !== 'pending' && end !== undefined ? timeBetween(startedAt, end) : '-';
}

function timeBetween(from: string | undefined, to: string): string {
  return from === undefined ? '-' : formatElapsed(msBetween(from, to));
}

/** What a story does, and for how long: `gates 1m 12s, attempt 2 of 3 for 3m 40s`. */
export function workText(story: StoryState, run: RunState, now: string): string {
  const { text } = storyWords(story, run, now);
  if (!isWorking(story, run)) return text;
  const { time, attemptTime } = storyFigures(story, run, now);
  const phase = time === '-' ? text : `${text} ${time}`;
  if (story.attempts < 2) return phase;
  return `${phase}, ${attemptText(story, run)}${attemptTime === '-' ? '' : ` for ${attemptTime}`}`;
}

/** E.g. `attempt 2 of 3`. */
export function attemptText(story: StoryState, run: Pick<RunState, 'maxAttempts'>, attempt = story.attempts): string {
  return `attempt ${attempt} of ${Math.max(attempt, attemptLimit(story, run))}`;
}

/** E.g. `waiting` and ` for US-001`. */
export function dependencyText(story: StoryState, run: RunState): [string, string] | undefined {
  const unmet = unmetDependencies(story, run);
  if (unmet === undefined) return undefined;
  const [word, link] = unmet.isBlocked ? ['blocked', 'by'] : ['waiting', 'for'];
  return [word, ` ${link} ${safeLine(unmet.ids.join(', '), MAX_IDS_LENGTH)}`];
}

const MAX_IDS_LENGTH = 4_000;
const MAX_NEEDS_LENGTH = 24;

/** Whether a wait is the delay of a retry, and not for a breaker or a pause of the model. */
export function isForRetry({ breaker, model }: Waiting): boolean {
  return breaker === undefined && model === undefined;
}

/**
 * Time until the retry, the next trial of the breaker or the end of the model’s pause, in whole seconds; after it, the story
 * waits for a worker.
 */
function waitText(waiting: Waiting, now: string): [string, string?] {
  const ms = msBetween(now, waiting.notBefore);
  if (ms <= 0) return ['waiting', ' for a worker'];
  const left = formatElapsed(Math.ceil(ms / 1000) * 1000).replace('.0s', 's');
  return isForRetry(waiting) ? ['retrying', ` in ${left}`] : ['waiting', ` for ${left}`];
}
