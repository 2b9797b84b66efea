import { addSign, type FailureSign } from '../failure/breaker.ts';
import { isStoryFailure, type FailureClass } from '../failure/failure.ts';
import { omit, type Hint, type RunState, type StoryState } from '../run/state.ts';
import { msBetween } from '../text/format-elapsed.ts';
import type { JournalEvent } from './events.ts';
import { withStart } from './start-facts.ts';

type Of<T extends JournalEvent['type']> = Extract<JournalEvent, { type: T }>;

export function afterStart(story: StoryState, event: Of<'story.started'>): StoryState {
  const started = { ...withStart(withoutWaiting(story), event), starts: (story.starts ?? 0) + 1 };
  return event.worker === undefined ? started : { ...started, startedBy: event.worker };
}

export function afterEnd(story: StoryState, event: Of<'story.ended'>): StoryState {
  const { attempt, stopReason: reason, summary, conflicts } = event;
  const ended = { ...omit(withoutWaiting(story), 'waitedMs', 'left'), starts: 0 };
  if (event.verdict !== 'failed') return ended;
  const { class: failureClass, rule, cause, limit } = event.failure;
  // Conflicts are counted separately.
  const counted = conflicts === undefined ? count(ended, failureClass) : ended;
  const hint: Hint = { attempt, reason, summary, withLog: rule !== 'fresh' };
  // `wait` keeps the hint of an earlier failure. After a conflict the agent must know about the other story.
  const keepsHint = rule === 'wait' && conflicts === undefined;
  return {
    // Tests that are wrong are written again.
    ...(failureClass === 'tests' ? omit(counted, 'keptTests') : counted),
    lastFailure: { class: failureClass, rule, ...(cause && { cause }), ...(limit && { limit }) },
    ...(keepsHint ? {} : { hint }),
  };
}

/** Applies what happens to a story between a failure and its next attempt. */
export function foldFailure(
  story: StoryState,
  event: Of<'story.disturbed' | 'retry.scheduled' | 'breaker.held'>,
): StoryState {
  switch (event.type) {
    case 'story.disturbed':
      // The cause of the interruption is known, so the start does not count as a worker crash.
      return withoutStart(count(omit(story, 'takesMessages'), event.class));
    case 'retry.scheduled': {
      const { why, nth, of } = event;
      return { ...story, waiting: { ...waitOf(event), why, nth, of, class: event.class } };
    }
    case 'breaker.held':
      return { ...story, waiting: { ...waitOf(event), why: event.why, breaker: event.key } };
  }
}

/** Applies a pause of the model: the attempt has not begun, or begins again. */
export function postponeStory(story: StoryState, event: Of<'story.postponed'>): StoryState {
  const { at, why, notBefore, model, left } = event;
  const waitedMs = (story.waitedMs ?? 0) + msBetween(at, notBefore);
  const begun = story.phase === undefined ? story : withoutStart(story);
  return {
    ...omit(begun, 'phase', 'phaseAt', 'attemptAt', 'awaits', 'takesMessages'),
    waiting: { ...waitOf(event), why, model },
    waitedMs,
    ...(left !== undefined && { left: [...(story.left ?? []), { agent: left, why }] }),
  };
}

function waitOf({ at, notBefore }: { at: string; notBefore: string }): { notBefore: string; waitMs: number } {
  return { notBefore, waitMs: Math.max(0, msBetween(at, notBefore)) };
}

/** Applies a pause of a model, or of one of its keys, which replaces that of the same key and model. */
export function pauseModel(run: RunState, event: Of<'model.paused' | 'key.paused'>): RunState {
  const { model, until } = event;
  if (event.type === 'model.paused') return { ...run, modelPause: { model, why: event.why, until } };
  const { key, of, source, why } = event;
  const others = (run.keyPauses ?? []).filter((each) => each.model !== model || each.key !== key);
  return { ...run, keyPauses: [...others, { model, key, of, source, why, until }] };
}

/** Stops counting the last start as a worker crash. */
export function withoutStart(story: StoryState): StoryState {
  const counted = { ...story, starts: Math.max(0, (story.starts ?? 0) - 1) };
  delete counted.startedBy;
  return counted;
}

/** Records a story's end for the run's breaker: a success resets it, a failure outside of the story changes nothing. */
export function countForBreaker(run: RunState, event: Of<'story.ended'>): RunState {
  const { story, attempt } = event;
  if (event.verdict === 'passed') return withoutBreaker(run);
  if (event.verdict !== 'failed' || !isStoryFailure(event.failure.class)) return run;
  const sign: FailureSign = { by: attemptName(story, attempt), ...event.failure.sign };
  return { ...run, signs: addSign(run.signs ?? [], sign) };
}

/** A name for an attempt that is unique within its run. */
export function attemptName(story: string, attempt: number): string {
  return `${story}/${attempt}`;
}

/** Ends a story's wait for a shared breaker that a user has reset. */
export function stopWaitingFor(story: StoryState, key: string): StoryState {
  return story.waiting?.breaker === key ? withoutWaiting(story) : story;
}

export function withoutBreaker(run: RunState): RunState {
  return omit(run, 'signs', 'breaker');
}

function count(story: StoryState, failure: FailureClass): StoryState {
  const { failures = {} } = story;
  return { ...story, failures: { ...failures, [failure]: (failures[failure] ?? 0) + 1 } };
}

export function withoutWaiting(story: StoryState): StoryState {
  return omit(story, 'waiting');
}
