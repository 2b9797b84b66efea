import { addSign, errorSignature, findTrip, type BreakerPolicy, type FailureSign } from './breaker.ts';
import type { AttemptRef, FailureNote, JournalEntry } from '../journal/events.ts';
import {
  classify,
  decideRetry,
  isOfStory,
  type FailureCause,
  type RetryDecision,
  type RetryPolicy,
} from './failure.ts';
import { attemptName } from '../fold-failure.ts';
import type { RunState } from '../run-state.ts';
import type { StopReason } from './stop-reason.ts';

/** An attempt that failed, and what was measured of it. */
export interface FailedAttempt extends AttemptRef {
  stopReason: StopReason;
  cause?: FailureCause | undefined;
  summary: string;
  /** Whether the agent changed a file; undefined: it did not come to that. */
  changed?: boolean | undefined;
  /** Paths that another story changed as well and landed first. */
  conflicts?: readonly string[] | undefined;
  /** Characters that the agent printed. */
  output?: number | undefined;
  /** What the agent was not permitted to do, by its own word. */
  denied?: string | undefined;
}

export interface Policies {
  retry: RetryPolicy;
  breaker: BreakerPolicy;
}

export interface Judgement {
  failure: FailureNote;
  /** What follows the attempt's end in the journal: a retry, and perhaps the opening of the run's breaker. */
  entries: JournalEntry[];
}

/** What a failure means for its story and its run, as it stood before. `now` is in ms since 1970. */
export function judgeFailure(
  state: RunState,
  failed: FailedAttempt,
  { policies, now }: { policies: Policies; now: number },
): Judgement {
  const { stopReason, cause, summary, changed, output } = failed;
  const decision = failed.conflicts === undefined ? decide(state, failed, policies.retry) : AT_ONCE;
  const denied = decision.class === 'policy' || cause === 'key-refused' || failed.denied !== undefined;
  const sign: FailureNote['sign'] = {
    // What stories fail of has many reasons with the same cause, what is around them has one.
    error: cause === undefined || isOfStory(decision.class) ? `${stopReason}: ${errorSignature(summary)}` : cause,
    changed,
    denied,
    kind: decision.class,
    ...(output === undefined ? {} : { output }),
  };
  const retry = retryEntry(failed, decision, now);
  const failure: FailureNote = {
    class: decision.class,
    rule: decision.rule,
    ...(cause === undefined ? {} : { cause }),
    sign,
  };
  const trip = isOfStory(failure.class) ? tripEntry(state, { failed, sign, retry, policy: policies.breaker }) : [];
  return { failure, entries: [...retry, ...trip] };
}

/** What is to follow a fault of the surroundings: nothing, when no retry is left. */
export function judgeDisturbance(
  state: RunState,
  fault: Pick<FailedAttempt, 'story' | 'attempt' | 'stopReason' | 'cause' | 'summary'>,
  { policies, now }: { policies: Pick<Policies, 'retry'>; now: number },
): JournalEntry[] {
  const { story, attempt, stopReason, summary } = fault;
  const decision = decide(state, fault, policies.retry);
  return [
    { type: 'story.disturbed', story, attempt, class: decision.class, stopReason, summary },
    ...retryEntry(fault, decision, now),
  ];
}

/** Each conflict means that another story landed meanwhile, so that there is an end to them. */
const AT_ONCE: RetryDecision = { class: 'environment', rule: 'wait', retry: { nth: 1, of: 1, waitMs: 0 } };

function decide(
  state: RunState,
  { story, attempt, stopReason, cause }: AttemptRef & Pick<FailedAttempt, 'stopReason' | 'cause'>,
  policy: RetryPolicy,
): RetryDecision {
  const before = state.stories.find(({ id }) => id === story);
  return decideRetry({
    kind: classify({ stopReason, phase: before?.phase, cause }),
    before: before?.failures ?? {},
    policy,
    seed: `${state.runId}/${attemptName(story, attempt)}`,
  });
}

function retryEntry(
  { story, attempt, summary }: AttemptRef & { summary: string },
  { class: whose, rule, retry }: RetryDecision,
  now: number,
): JournalEntry[] {
  if (retry === undefined) return [];
  const { nth, of, waitMs } = retry;
  const notBefore = new Date(now + waitMs).toISOString();
  const [why = ''] = summary.split('\n');
  return [{ type: 'retry.scheduled', story, attempt, class: whose, rule, nth, of, notBefore, why }];
}

interface Trip {
  failed: FailedAttempt;
  sign: Omit<FailureSign, 'by'>;
  retry: JournalEntry[];
  policy: BreakerPolicy;
}

/** A story that is not tried again ends the run for a reason of its own, which says more. */
function tripEntry(state: RunState, { failed, sign, retry, policy }: Trip): JournalEntry[] {
  if (retry.length === 0 || state.breaker !== undefined) return [];
  const by = attemptName(failed.story, failed.attempt);
  const reason = findTrip(addSign(state.signs ?? [], { by, ...sign }), policy);
  return reason === undefined ? [] : [{ type: 'breaker.opened', reason }];
}
