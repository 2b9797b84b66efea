import { z } from 'zod';
import { RETRY_RULES, type RetryRule } from '../../core/failure/failure.ts';
import { UNANSWERED, UNANSWERED_CHOICES } from '../../core/run/questions.ts';
import { key } from './key-metadata.ts';
import { ANYONE, needsRight, owner } from '../trust/key-trust.ts';
import { Duration, oneOf, wholeNumber } from './values.ts';

const SHARE = 'must be a number from 0 to 1';
const STOP_TRYING = 'decide when halo stops retrying';
const FACTOR = 'must be a number from 1 to 10';

/** `[retry]`: the handling of failures, by class. */
export const RetryTable = z.strictObject({
  attempts: key(
    wholeNumber(1, 100),
    ['whole number', 3, 'Maximum number of attempts at a story that fail because of the agent, the story or a gate.'],
    ANYONE,
  ),
  backoff: key(Duration, ['duration', '30s', 'Delay before the first retry.'], ANYONE),
  max_backoff: key(Duration, ['duration', '5m', 'Maximum delay before a retry.'], ANYONE),
  multiplier: key(
    z.number({ error: FACTOR }).min(1, FACTOR).max(10, FACTOR),
    ['number', 2, 'Factor between consecutive delays.'],
    ANYONE,
  ),
  jitter: key(
    z.number({ error: SHARE }).min(0, SHARE).max(1, SHARE),
    ['number', 0.2, 'Maximum random reduction of a delay, as a fraction.'],
    ANYONE,
  ),
  crashes: key(
    wholeNumber(1, 100),
    ['whole number', 10, 'Maximum number of consecutive worker crashes during a story before it fails.'],
    ANYONE,
  ),
  max_wait: key(
    Duration,
    [
      'duration',
      '12h',
      'Maximum total time that an attempt waits for [long pauses](gateway.md#long-pauses) of its model; then the story fails.',
    ],
    ANYONE,
  ),
  agent: z.strictObject(ownFailures('hint')),
  story: z.strictObject(ownFailures('hint')),
  gate: z.strictObject(ownFailures('hint')),
  tests: z.strictObject(otherFailures('hint', 2)),
  policy: z.strictObject(otherFailures('hint', 1)),
  environment: z.strictObject(otherFailures('wait', 2)),
  infrastructure: z.strictObject({
    ...otherFailures('wait', 6),
    backoff: classBackoff('5s'),
  }),
  provider: z.strictObject(otherFailures('wait', 10)),
  budget: z.strictObject(otherFailures('halt', 0)),
});

/** `[breaker]`: when halo stops retrying. */
export const BreakerTable = z.strictObject({
  no_change: key(
    wholeNumber(0, 100),
    ['whole number', 3, 'Consecutive failures without a changed file that open a breaker.'],
    owner(STOP_TRYING),
  ),
  same_error: key(
    wholeNumber(0, 100),
    ['whole number', 5, 'Consecutive failures with the same error that open a breaker.'],
    owner(STOP_TRYING),
  ),
  output_decline: key(
    wholeNumber(0, 100),
    [
      'whole number',
      70,
      'Decrease of an agent’s output since the previous failed attempt, in percent, that opens a breaker.',
    ],
    owner(STOP_TRYING),
  ),
  permission_denials: key(
    wholeNumber(0, 100),
    ['whole number', 2, 'Consecutive failures with denied permissions that open a breaker.'],
    owner(STOP_TRYING),
  ),
  test_only: key(
    wholeNumber(0, 100),
    [
      'whole number',
      0,
      'Consecutive failures in which only tests were changed that open the breaker of a run. `0`: never.',
    ],
    owner(STOP_TRYING),
  ),
  cooldown: key(
    Duration,
    ['duration', '30m', 'Time until an open breaker allows a trial attempt.'],
    owner(STOP_TRYING),
  ),
});

/** Failures that use up attempts. */
function ownFailures(rule: RetryRule) {
  const meaning = '[Rule](failures.md#rules) for failures of this [class](failures.md#retries).';
  return { rule: key(oneOf(...RETRY_RULES), ['word', rule, meaning], ANYONE), backoff: classBackoff(undefined) };
}

/** Failures outside the story's control. */
function otherFailures(rule: RetryRule, retries: number) {
  const meaning = 'Maximum retries of a story after failures of this class.';
  return { ...ownFailures(rule), retries: key(wholeNumber(0, 100), ['whole number', retries, meaning], ANYONE) };
}

function classBackoff(preset: string | undefined) {
  return key(
    Duration.optional(),
    ['duration', preset, 'Overrides `retry.backoff` for failures of this class.'],
    ANYONE,
  );
}

/** `[answers]`: questions of agents that no person answers. */
export const AnswersTable = z.strictObject({
  deadline: key(
    Duration.optional(),
    [
      'duration',
      undefined,
      'How long a [question of an agent](run-control.md#answer-a-question) waits for an answer, before `answers.default` applies. Not set: without limit.',
    ],
    needsRight('answer'),
  ),
  default: key(
    oneOf(...UNANSWERED_CHOICES),
    [
      'word',
      'fail',
      `After the deadline: ${UNANSWERED_CHOICES.map((choice) => `\`${choice}\` ${UNANSWERED[choice].help}`).join('; ')}.`,
    ],
    needsRight('answer'),
  ),
});
