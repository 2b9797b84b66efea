import { addSign, type FailureSign, type Signs } from './failure/breaker.ts';
import type { JournalEvent } from './journal/events.ts';
import {
  isOfStory,
  type FailureCause,
  type FailureClass,
  type FailureTally,
  type RetryRule,
} from './failure/failure.ts';
import type { StopReason } from './failure/stop-reason.ts';

/** What the next attempt at a story waits for. */
export interface Waiting {
  /** ISO 8601 */
  notBefore: string;
  why: string;
  /** Which retry of how many; undefined where a breaker holds it back. */
  nth?: number;
  of?: number;
  /** The breaker that holds it back. */
  breaker?: string;
}

export interface Hint {
  attempt: number;
  reason: StopReason;
  summary: string;
  /** Whether the end of its log goes with it. */
  withLog: boolean;
}

/** The part of a story's state that failures make. */
export interface StoryFailures {
  /** How often it failed, by class. */
  failures?: FailureTally;
  /** The class of its last failure and how it is met; undefined in journals of older versions. */
  lastFailure?: { class: FailureClass; rule: RetryRule; cause?: FailureCause };
  /** What the next attempt's prompt says of an earlier one. */
  hint?: Hint;
  waiting?: Waiting;
  /** Starts in a row of which nobody knows how they went on: the worker died. */
  starts?: number;
  /** The process that made the last of them, as lib/process-life.ts marks it. */
  startedBy?: string;
}

type Of<T extends JournalEvent['type']> = Extract<JournalEvent, { type: T }>;

export function afterStart<S extends StoryFailures>(story: S, { worker }: Of<'story.started'>): S {
  const started = { ...withoutWaiting(story), starts: (story.starts ?? 0) + 1 };
  return worker === undefined ? started : { ...started, startedBy: worker };
}

export function afterEnd<S extends StoryFailures>(story: S, event: Of<'story.ended'>): S {
  const { verdict, failure, attempt, stopReason: reason, summary, conflicts } = event;
  const ended = { ...withoutWaiting(story), starts: 0 };
  if (verdict !== 'failed') return ended;
  // What another story changed first is counted apart.
  const counted = conflicts === undefined ? count(ended, failure?.class ?? 'agent') : ended;
  const hint: Hint = { attempt, reason, summary, withLog: failure?.rule !== 'fresh' };
  if (failure === undefined) return { ...counted, hint };
  const { class: whose, rule, cause } = failure;
  // As if nothing had happened: what was said of an earlier failure is said again. Where it met another story it must know.
  const silent = rule === 'wait' && conflicts === undefined;
  return { ...counted, lastFailure: { class: whose, rule, ...(cause && { cause }) }, ...(silent ? {} : { hint }) };
}

/** What happens to a story between a failure and its next attempt. */
export function foldFailure<S extends StoryFailures>(
  story: S,
  event: Of<'story.disturbed' | 'story.returned' | 'retry.scheduled' | 'breaker.held'>,
): S {
  switch (event.type) {
    case 'story.disturbed':
      // What cut the attempt short is known, so that its start counts no more.
      return withoutStart(count(story, event.class));
    case 'story.returned':
      return withoutStart(story);
    case 'retry.scheduled': {
      const { notBefore, why, nth, of } = event;
      return { ...story, waiting: { notBefore, why, nth, of } };
    }
    case 'breaker.held':
      return { ...story, waiting: { notBefore: event.notBefore, why: event.why, breaker: event.key } };
  }
}

/** Its last start does not count as the death of a worker. */
export function withoutStart<S extends StoryFailures>(story: S): S {
  const counted = { ...story, starts: Math.max(0, (story.starts ?? 0) - 1) };
  delete counted.startedBy;
  return counted;
}

/** The part of a run's state that its own breaker needs. */
export interface RunFailures {
  /** Failures since the last success. */
  signs?: Signs;
  /** Why the run's breaker is open; undefined while it is closed. */
  breaker?: string;
}

/** A success forgives what came before; what nobody judged changes nothing. */
export function countForBreaker<R extends RunFailures>(run: R, event: Of<'story.ended'>): R {
  const { verdict, failure, story, attempt } = event;
  if (verdict === 'passed') return withoutBreaker(run);
  if (failure === undefined || !isOfStory(failure.class)) return run;
  const sign: FailureSign = { by: attemptName(story, attempt), ...failure.sign };
  return { ...run, signs: addSign(run.signs ?? [], sign) };
}

/** Names an attempt among all of its run. */
export function attemptName(story: string, attempt: number): string {
  return `${story}/${attempt}`;
}

/** A person closed the run's own breaker, or one that held stories of it back. */
export function waitNoMore<S extends StoryFailures>(story: S, key: string): S {
  return story.waiting?.breaker === key ? withoutWaiting(story) : story;
}

export function withoutBreaker<R extends RunFailures>(run: R): R {
  const closed = { ...run };
  delete closed.signs;
  delete closed.breaker;
  return closed;
}

function count<S extends StoryFailures>(story: S, failure: FailureClass): S {
  const { failures = {} } = story;
  return { ...story, failures: { ...failures, [failure]: (failures[failure] ?? 0) + 1 } };
}

/** It is not known to be tried again. */
export function withoutWaiting<S extends StoryFailures>(story: S): S {
  const copy = { ...story };
  delete copy.waiting;
  return copy;
}
