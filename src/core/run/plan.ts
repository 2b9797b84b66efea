import { consumesAttempt } from '../failure/failure.ts';
import type { StopReason } from '../failure/stop-reason.ts';
import { attemptName } from '../journal/fold-failures.ts';
import { isDone, isSelected, isUnchanged, needsPerson, startsAlone, type RunState, type StoryState } from './state.ts';
import { isDue } from '../../core/due.ts';
import { hasTrait, isIn, PROGRESS } from './progress.ts';
import { formatStoryRanges } from './story-ranges.ts';

/** What a run does next: the attempts that may run now, in story order, or its end. */
type Plan = { kind: 'attempts'; attempts: PlannedAttempt[] } | ({ kind: 'end' } & RunEnd);

export interface PlannedAttempt {
  story: StoryState;
  attempt: number;
  /** ISO 8601; undefined: immediately. */
  notBefore?: string;
  /** How long it has to wait at most, in ms. */
  longestMs?: number;
}

export interface RunEnd {
  stopReason: StopReason;
  detail: string;
  /** The id of the story that explains the end, if any. */
  story?: string;
}

/**
 * Decides what may run now: stories in progress, and up to `parallel` stories that need another attempt or whose
 * dependencies have landed. After a story failed for good or needs a user, nothing new starts unless `onFailure` is
 * `continue`; then only the stories that depend on it are blocked. Approved and retried stories run in any case. Nothing
 * starts while the run's breaker is open.
 */
export function planNext(state: RunState): Plan {
  const inProgress = state.stories.filter(({ progress }) => progress === 'in_progress');
  const stopped = state.onFailure === 'stop' && state.stories.some(isStopping);
  const startable = state.stories.filter(
    (story) => isStartable(story, state) && (!stopped || isRequestedByUser(story)),
  );
  const next = state.breaker === undefined ? startable : [];
  const chosen = new Set([...inProgress, ...next.slice(0, Math.max(0, state.parallel - inProgress.length))]);
  if (chosen.size === 0 && startable.length > 0) return { kind: 'end', ...endOfBreaker(state) };
  if (chosen.size === 0) return { kind: 'end', ...endOf(state) };
  const attempts = state.stories.filter((story) => chosen.has(story)).map(planAttempt);
  return { kind: 'attempts', attempts };
}

/** The attempt that may run now at the story with this ordinal. */
export function planStory(state: RunState, ordinal: number): PlannedAttempt | undefined {
  const plan = planNext(state);
  return plan.kind === 'end' ? undefined : plan.attempts.find(({ story }) => story === state.stories[ordinal]);
}

/**
 * The only attempt that the run plans once a story in progress has passed: the first one at another story. Undefined if
 * there is none, or there are several.
 */
export function planAfterPass(state: RunState, storyId: string): PlannedAttempt | undefined {
  if (state.paused !== undefined || state.dry) return undefined;
  const stories = state.stories.map((story) =>
    story.id === storyId ? { ...story, progress: 'passed' as const } : story,
  );
  const plan = planNext({ ...state, stories });
  const [next, ...others] = plan.kind === 'end' ? [] : plan.attempts;
  const isFirst = next?.attempt === 1 && hasTrait('starts', next.story) && next.notBefore === undefined;
  return isFirst && others.length === 0 ? next : undefined;
}

/**
 * Whether the run still plans an attempt that was planned before: no worker has started it, and no command has changed the
 * run. Call it in the transaction that appends an event about the attempt.
 */
export function isStillPlanned(state: RunState, { story, attempt }: PlannedAttempt): boolean {
  if (state.status === 'ended' || state.paused !== undefined) return false;
  const planned = planStory(
    state,
    state.stories.findIndex(({ id }) => id === story.id),
  );
  return planned?.attempt === attempt && planned.story.epoch === story.epoch;
}

/** Whether an attempt need not wait any longer. `now`: ms since 1970. */
export function isAttemptDue({ notBefore, longestMs = Infinity }: PlannedAttempt, now: number): boolean {
  return notBefore === undefined || isDue(Date.parse(notBefore), { now, longestMs });
}

/** Resuming an attempt that never ended, or landing an approved commit, does not count as a new attempt. */
function planAttempt(story: StoryState): PlannedAttempt {
  const { progress, attempts, waiting } = story;
  const attempt = progress === 'in_progress' || isApproved(story) ? attempts : attempts + 1;
  if (waiting === undefined) return { story, attempt };
  const { notBefore, waitMs } = waiting;
  return { story, attempt, notBefore, longestMs: waitMs };
}

function isStartable(story: StoryState, state: RunState): boolean {
  if (hasTrait('starts', story)) return dependenciesOf(story, state).every(isDone);
  return isIn('stuck', story) && !isExhausted(story);
}

/** Whether the story needs a user, or has used up its attempts. */
export function isExhausted(story: StoryState): boolean {
  return isIn('stuck', story) && !(startsAlone(story) && hasRetryLeft(story));
}

/** Whether it prevents others from starting, unless `onFailure` is `continue`. */
function isStopping(story: StoryState): boolean {
  return isExhausted(story) && hasTrait('stops', story);
}

function hasRetryLeft({ stopReason, lastFailure }: StoryState): boolean {
  return stopReason !== 'APPROVAL_DENIED' && lastFailure !== undefined && lastFailure.rule !== 'halt';
}

/** Why the breaker is open, and what failed last unless that is part of the reason. */
function endOfBreaker({ breaker = '', stories, signs = [] }: RunState): RunEnd {
  const sign = signs.at(-1);
  const last = stories.find(({ id, attempts }) => attemptName(id, attempts) === sign?.by);
  const isSaid = sign === undefined || last?.summary === undefined || breaker.includes(sign.error);
  const detail = isSaid ? breaker : `${breaker}; ${last.id}: ${last.summary}`;
  return { stopReason: 'CIRCUIT_OPEN', detail, ...(last && { story: last.id }) };
}

/** Whether a user approved or retried the story. */
function isRequestedByUser(story: StoryState): boolean {
  return isApproved(story) || story.forgiven !== undefined;
}

function isApproved({ approved }: StoryState): boolean {
  return approved !== undefined;
}

function dependenciesOf({ dependsOn }: StoryState, { stories }: RunState): StoryState[] {
  return stories.filter(({ id }) => dependsOn.includes(id));
}

/** The end of a run that cannot start anything. Stories that need a user come first, because a decision resumes the run. */
function endOf(state: RunState): RunEnd {
  const { onFailure } = state;
  const stories = state.stories.filter((story) => isSelected(story, state));
  const stuck = stories.filter(isExhausted);
  const comesFirst = onFailure === 'stop' ? isStopping : needsPerson;
  const first = stuck.find(comesFirst) ?? stuck[0];
  const landed = stories.filter(({ progress }) => progress === 'passed').length;
  const left = stories.filter((story) => hasTrait('starts', story));
  if (first !== undefined && (onFailure === 'stop' || landed === 0 || needsPerson(first))) return endOfExhausted(first);
  if (first !== undefined || (left.length > 0 && landed > 0)) {
    const waiting = left.length === 0 ? '' : `; not started: ${formatStoryRanges(left, stories)}`;
    const failures = stuck
      .map(({ id, stopReason, progress }) => `; ${id}: ${stopReason ?? PROGRESS[progress].word}`)
      .join('');
    const verb = state.dry ? 'described' : 'passed';
    const detail = `${landed} of ${stories.length} stories ${verb}${failures}${waiting}`;
    return { stopReason: 'PARTIAL', detail, ...(first && { story: first.id }) };
  }
  return endAfterAll(stories, landed, state);
}

/** After several attempts since a person last retried the story, the stop reason is ATTEMPTS_EXHAUSTED. */
function endOfExhausted(story: StoryState): RunEnd {
  const { id, summary, progress } = story;
  const detail = summary === undefined ? `${id} ${PROGRESS[progress].says}` : `${id}: ${summary}`;
  const last = story.stopReason ?? 'UNKNOWN_ERROR';
  if (needsPerson(story)) return { stopReason: 'NEEDS_HUMAN', detail, story: id };
  const { lastFailure, attempts, forgiven = 0 } = story;
  const own = lastFailure !== undefined && consumesAttempt(lastFailure.class);
  const isDecided = last === 'APPROVAL_DENIED' || last === 'NEEDS_HUMAN';
  if (!own || attempts - forgiven === 1 || isDecided) return { stopReason: last, detail, story: id };
  const sentence = detail.replace(/\.$/, '');
  return { stopReason: 'ATTEMPTS_EXHAUSTED', detail: `${sentence} (${last}, ${attempts} attempts)`, story: id };
}

function endAfterAll(stories: StoryState[], landed: number, { dry: isDry, planning: isPlanning }: RunState): RunEnd {
  const left = stories.filter((story) => story.progress === 'cancelled').length;
  if (left > 0 && landed === 0) return { stopReason: 'USER_ABORT', detail: 'what was left of it was cancelled' };
  if (left > 0) {
    return { stopReason: 'PARTIAL', detail: `${landed} of ${stories.length} stories passed, ${left} cancelled` };
  }
  if (landed > 0 && isPlanning) return { stopReason: 'SUCCESS', detail: 'the agent has answered with a plan' };
  const done = stories.filter((story) => story.progress === 'done').length;
  if (landed > 0 && isDry) {
    const before = done === 0 ? '' : `, ${done} done before`;
    return {
      stopReason: 'SUCCESS',
      detail: `${landed} of ${stories.length} stories described${before}, nothing changed`,
    };
  }
  const unchanged = stories.filter(isUnchanged).length;
  if (landed > 0)
    return { stopReason: 'SUCCESS', detail: describeSuccess(stories.length, { landed, unchanged, done }) };
  if (done > 0 && done === stories.length) return { stopReason: 'SUCCESS', detail: 'every story was done already' };
  return { stopReason: 'NOTHING_RUNNABLE', detail: 'no story of the PRD is open' };
}

interface Counts {
  /** Passed, with or without a commit. */
  landed: number;
  unchanged: number;
  done: number;
}

/** Describes how the stories were done, unless each of them landed a commit. */
function describeSuccess(all: number, { landed, unchanged, done }: Counts): string {
  if (landed === all && unchanged === 0) return `${landed} of ${all} stories passed`;
  const parts = [
    [landed - unchanged, 'passed'],
    [unchanged, 'needed no change'],
    [done, 'done before'],
    [all - landed - done, 'skipped'],
  ] as const;
  const counted = parts.flatMap(([count, word]) => (count === 0 ? [] : [`${count} ${word}`]));
  return `${all} of ${all} stories finished: ${counted.join(', ')}`;
}
