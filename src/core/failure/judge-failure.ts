import type { AttemptRef, FailureNote } from '../journal/event-parts.ts';
import type { JournalEntry } from '../journal/events.ts';
import { attemptName } from '../journal/fold-failures.ts';
import type { RunState } from '../run/state.ts';
import { addSign, errorSignature, findTripReason, type BreakerPolicy, type FailureSign } from './breaker.ts';
import {
  causeRow,
  classifyFailure,
  countsForBreaker,
  decideRetry,
  isStoryFailure,
  type FailureCause,
  type LimitKey,
  type RetryDecision,
  type RetryPolicy,
} from './failure.ts';
import type { StopReason } from './stop-reason.ts';

/** A failed attempt and its measurements. */
export interface FailedAttempt extends AttemptRef {
  stopReason: StopReason;
  cause?: FailureCause | undefined;
  /** The setting whose limit ended it. */
  limit?: LimitKey | undefined;
  summary: string;
  /** Whether the agent changed a file; undefined if it was never started. */
  changed?: boolean | undefined;
  /** Whether all files that it changed are tests. */
  testOnly?: boolean | undefined;
  /** Paths in conflict with another story that landed first. */
  conflicts?: readonly string[] | undefined;
  /** Bytes of the agent's output. */
  output?: number | undefined;
  /** The permission that the agent reported as denied. */
  denied?: string | undefined;
}

interface Policies {
  retry: RetryPolicy;
  breaker: BreakerPolicy;
}

interface Judgement {
  failure: FailureNote;
  /** Entries after the attempt's end: a retry, and possibly the opening of the run's breaker. */
  entries: JournalEntry[];
}

/** Decides what a failure means for its story and run, given the state before it. `now` is in ms since 1970. */
export function judgeFailure(
  state: RunState,
  failed: FailedAttempt,
  { policies, now }: { policies: Policies; now: number },
): Judgement {
  const { stopReason, cause, limit, summary, changed, testOnly, output } = failed;
  const decision = failed.conflicts === undefined ? decideForStory(state, failed, policies.retry) : RETRY_IMMEDIATELY;
  const denied = decision.class === 'policy' || cause === 'key-refused' || failed.denied !== undefined;
  const sign: FailureNote['sign'] = {
    // A story's failures can have many reasons per cause; most causes in its environment have one.
    error:
      cause === undefined || causeRow(cause)?.varied || isStoryFailure(decision.class)
        ? `${stopReason}: ${errorSignature(summary)}`
        : cause,
    changed,
    denied,
    kind: decision.class,
    ...(testOnly === undefined ? {} : { testOnly }),
    ...(output === undefined ? {} : { output }),
  };
  const retry = retryEntry(failed, decision, now);
  const failure: FailureNote = {
    class: decision.class,
    rule: decision.rule,
    ...(cause === undefined ? {} : { cause }),
    ...(limit === undefined ? {} : { limit }),
    sign,
  };
  const isCounted = isStoryFailure(failure.class) && countsForBreaker(cause);
  const trip = isCounted ? tripEntry(state, { failed, sign, retry, policy: policies.breaker }) : [];
  return { failure, entries: [...retry, ...trip] };
}

/** Decides what follows an infrastructure failure: no retry entry if none is left. */
export function judgeInterruption(
  state: RunState,
  fault: Pick<FailedAttempt, 'story' | 'attempt' | 'stopReason' | 'cause' | 'summary'>,
  { policies, now }: { policies: Pick<Policies, 'retry'>; now: number },
): JournalEntry[] {
  const { story, attempt, stopReason, summary } = fault;
  const decision = decideForStory(state, fault, policies.retry);
  return [
    { type: 'story.disturbed', story, attempt, class: decision.class, stopReason, summary },
    ...retryEntry(fault, decision, now),
  ];
}

/** Each conflict means that another story landed, so this cannot loop forever. */
const RETRY_IMMEDIATELY: RetryDecision = { class: 'environment', rule: 'wait', retry: { nth: 1, of: 1, waitMs: 0 } };

function decideForStory(
  state: RunState,
  { story, attempt, stopReason, cause }: AttemptRef & Pick<FailedAttempt, 'stopReason' | 'cause'>,
  policy: RetryPolicy,
): RetryDecision {
  const before = state.stories.find(({ id }) => id === story);
  return decideRetry({
    kind: classifyFailure({ stopReason, phase: before?.phase, cause }),
    before: before?.failures ?? {},
    policy,
    seed: `${state.runId}/${attemptName(story, attempt)}`,
  });
}

function retryEntry(
  { story, attempt, summary }: AttemptRef & { summary: string },
  { class: failureClass, rule, retry }: RetryDecision,
  now: number,
): JournalEntry[] {
  if (retry === undefined) return [];
  const { nth, of, waitMs } = retry;
  const notBefore = new Date(now + waitMs).toISOString();
  const [why = ''] = summary.split('\n');
  return [{ type: 'retry.scheduled', story, attempt, class: failureClass, rule, nth, of, notBefore, why }];
}

interface Trip {
  failed: FailedAttempt;
  sign: Omit<FailureSign, 'by'>;
  retry: JournalEntry[];
  policy: BreakerPolicy;
}

/**
 * If the failure is not retried, no breaker entry is added: the run ends with the story's own, more specific reason.
 */
function tripEntry(state: RunState, { failed, sign, retry, policy }: Trip): JournalEntry[] {
  if (retry.length === 0 || state.breaker !== undefined) return [];
  const by = attemptName(failed.story, failed.attempt);
  const reason = findTripReason(addSign(state.signs ?? [], { by, ...sign }), policy);
  return reason === undefined ? [] : [{ type: 'breaker.opened', reason }];
}
