import { consumesAttempt } from '../failure/failure.ts';
import type { RunState, StoryState } from '../run-state.ts';
import type { StopReason } from '../failure/stop-reason.ts';
import { rangesOf } from './story-ranges.ts';
import { isDone, isUnchanged } from '../progress.ts';

/** What a run does next: the attempts that may be under way now, in the order of its stories, or its end. */
export type Plan = { kind: 'attempts'; attempts: PlannedAttempt[] } | ({ kind: 'end' } & RunEnd);

export interface PlannedAttempt {
  story: StoryState;
  attempt: number;
  /** ISO 8601; undefined: at once. */
  notBefore?: string;
}

export interface RunEnd {
  stopReason: StopReason;
  detail: string;
}

/**
 * Decides what may run now: whatever is in progress, and as many more as `parallel` allows of the stories that need
 * another attempt or whose dependencies have all landed. Nothing new starts after a story failed for good or waits for
 * a person, unless the run goes on after failures: then only what depends on that story is left out. What a person said
 * yes to lands in any case, and what they want again is tried again. Nothing at all starts while the breaker of the run is open.
 */
export function planNext(state: RunState): Plan {
  const under = state.stories.filter(({ progress }) => progress === 'in_progress');
  const stopped = state.onFailure === 'stop' && state.stories.some((story) => isStuck(story, state));
  const startable = state.stories.filter((story) => isStartable(story, state) && (!stopped || isAskedFor(story)));
  const next = state.breaker === undefined ? startable : [];
  const chosen = new Set([...under, ...next.slice(0, Math.max(0, state.parallel - under.length))]);
  if (chosen.size === 0 && startable.length > 0)
    return { kind: 'end', stopReason: 'CIRCUIT_OPEN', detail: state.breaker ?? '' };
  if (chosen.size === 0) return { kind: 'end', ...endOf(state) };
  const attempts = state.stories.filter((story) => chosen.has(story)).map(planAttempt);
  return { kind: 'attempts', attempts };
}

/**
 * One that never ended was left by a worker that died or handed it back, which costs no attempt. Neither does landing
 * what a person said yes to.
 */
function planAttempt(story: StoryState): PlannedAttempt {
  const { progress, attempts, waiting } = story;
  const attempt = progress === 'in_progress' || isApproved(story) ? attempts : attempts + 1;
  return { story, attempt, ...(waiting === undefined ? {} : { notBefore: waiting.notBefore }) };
}

function isStartable(story: StoryState, state: RunState): boolean {
  if (story.progress === 'failed') return mayTryAgain(story, state);
  return story.progress === 'pending' && neededBy(story, state).every(isDone);
}

/** Whether the story needs a person, or has used up its attempts. */
function isStuck(story: StoryState, state: RunState): boolean {
  return story.progress === 'needs_human' || (story.progress === 'failed' && !mayTryAgain(story, state));
}

/** Journals of older versions do not say whether a failure is followed by a retry: there most attempts counted. */
function mayTryAgain(story: StoryState, { maxAttempts }: RunState): boolean {
  const { stopReason, lastFailure, attempts, conflicts, spent = 0 } = story;
  if (stopReason === 'APPROVAL_DENIED') return false;
  return lastFailure === undefined ? attempts - conflicts - spent < maxAttempts : lastFailure.rule !== 'halt';
}

/** By a person, after whatever stopped the run. */
function isAskedFor(story: StoryState): boolean {
  return isApproved(story) || story.spent !== undefined;
}

function isApproved({ approved }: StoryState): boolean {
  return approved !== undefined;
}

function neededBy({ dependsOn }: StoryState, { stories }: RunState): StoryState[] {
  return stories.filter(({ id }) => dependsOn.includes(id));
}

/** Nothing can run any more. A person who is needed comes first, because their word lets the run go on. */
function endOf(state: RunState): RunEnd {
  const { stories, onFailure } = state;
  const stuck = stories.filter((story) => isStuck(story, state));
  const [first] = onFailure === 'stop' ? stuck : [...stuck].sort((a, b) => Number(waits(b)) - Number(waits(a)));
  const landed = stories.filter(({ progress }) => progress === 'passed').length;
  const left = stories.filter(({ progress }) => progress === 'pending');
  if (first !== undefined && (onFailure === 'stop' || landed === 0 || waits(first))) return endOfStuck(first);
  if (first !== undefined || (left.length > 0 && landed > 0)) {
    const waiting = left.length === 0 ? '' : `; not started: ${rangesOf(left, stories)}`;
    const failures = stuck.map(({ id, stopReason }) => `; ${id}: ${stopReason ?? 'failed'}`).join('');
    return { stopReason: 'PARTIAL', detail: `${landed} of ${stories.length} stories landed${failures}${waiting}` };
  }
  return endAfterAll(stories, landed);
}

function waits({ progress }: StoryState): boolean {
  return progress === 'needs_human';
}

/** Several attempts have a reason of their own. */
function endOfStuck(story: StoryState): RunEnd {
  const detail = `${story.id}: ${story.summary ?? ''}`;
  const last = story.stopReason ?? 'UNKNOWN_ERROR';
  if (waits(story)) return { stopReason: 'NEEDS_HUMAN', detail };
  const { lastFailure } = story;
  const own = lastFailure === undefined || consumesAttempt(lastFailure.class);
  if (!own || story.attempts === 1 || last === 'APPROVAL_DENIED') return { stopReason: last, detail };
  return { stopReason: 'ATTEMPTS_EXHAUSTED', detail: `${detail} (${last}, ${story.attempts} attempts)` };
}

function endAfterAll(stories: StoryState[], landed: number): RunEnd {
  const left = stories.filter((story) => story.progress === 'cancelled').length;
  if (left > 0 && landed === 0) return { stopReason: 'USER_ABORT', detail: 'what was left of it was cancelled' };
  if (left > 0) {
    return { stopReason: 'PARTIAL', detail: `${landed} of ${stories.length} stories landed, ${left} cancelled` };
  }
  const done = stories.filter((story) => story.progress === 'done').length;
  const unchanged = stories.filter(isUnchanged).length;
  if (landed > 0)
    return { stopReason: 'SUCCESS', detail: describeSuccess(stories.length, { landed, unchanged, done }) };
  if (done > 0 && done === stories.length) return { stopReason: 'SUCCESS', detail: 'every story was done already' };
  return { stopReason: 'NOTHING_RUNNABLE', detail: 'no story of the PRD is open' };
}

interface Counts {
  /** Passed with a commit or without one. */
  landed: number;
  unchanged: number;
  done: number;
}

/** Where not every story landed a commit, how each of them came to be done. */
function describeSuccess(all: number, { landed, unchanged, done }: Counts): string {
  if (landed === all && unchanged === 0) return `${landed} of ${all} stories landed`;
  const parts = [
    [landed - unchanged, 'landed'],
    [unchanged, 'needed no change'],
    [done, 'done before'],
    [all - landed - done, 'skipped'],
  ] as const;
  const counted = parts.flatMap(([count, word]) => (count === 0 ? [] : [`${count} ${word}`]));
  return `${all} of ${all} stories finished: ${counted.join(', ')}`;
}
