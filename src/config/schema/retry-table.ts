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
    ['number', 0.2, 'Maximum random reduction of a delay, as a fraction, so that runs do not retry at the same time.'],
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
      'Maximum total time that an attempt waits for [long pauses](gateway.md#long-pauses) of its model. If a pause would exceed it, the story fails.',
    ],
    ANYONE,
  ),
  agent: z.strictObject(ownFailures('hint', 'The agent program failed or gave no valid answer')),
  story: z.strictObject(ownFailures('hint', 'The agent gave up, took too long or used too much memory')),
  gate: z.strictObject(ownFailures('hint', 'A gate failed')),
  tests: z.strictObject(
    otherFailures(
      'hint',
      2,
      'The [tests that are written first](tests-first.md) are missing, or pass before the change',
    ),
  ),
  policy: z.strictObject(otherFailures('hint', 1, 'halo rejected the agent’s changes')),
  environment: z.strictObject(otherFailures('wait', 2, 'Setup failed, the branch moved, or the disk is nearly full')),
  infrastructure: z.strictObject({
    ...otherFailures('wait', 6, 'Docker, Redis, git or the disk failed'),
    backoff: classBackoff('5s'),
  }),
  provider: z.strictObject(otherFailures('wait', 10, 'The model provider limits requests, fails or cannot be reached')),
  budget: z.strictObject(otherFailures('halt', 0, 'A budget is used up')),
});

/** `[breaker]`: when halo stops retrying. */
export const BreakerTable = z.strictObject({
  no_change: key(
    wholeNumber(0, 100),
    ['whole number', 3, 'Number of consecutive failures without a changed file that open a breaker.'],
    owner(STOP_TRYING),
  ),
  same_error: key(
    wholeNumber(0, 100),
    ['whole number', 5, 'Number of consecutive failures with the same error that open a breaker.'],
    owner(STOP_TRYING),
  ),
  output_decline: key(
    wholeNumber(0, 100),
    [
      'whole number',
      70,
      'Decrease of an agent’s output in percent, compared with the previous failed attempt, that opens a breaker.',
    ],
    owner(STOP_TRYING),
  ),
  permission_denials: key(
    wholeNumber(0, 100),
    ['whole number', 2, 'Number of consecutive failures with denied permissions that open a breaker.'],
    owner(STOP_TRYING),
  ),
  test_only: key(
    wholeNumber(0, 100),
    [
      'whole number',
      0,
      'Number of consecutive failures in which only tests were changed that open the breaker of a run. `0`: never.',
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
function ownFailures(rule: RetryRule, what: string) {
  const meaning = `${what}: \`hint\`, \`fresh\`, \`wait\` or \`halt\` ([rules](failures.md#rules)).`;
  return { rule: key(oneOf(...RETRY_RULES), ['word', rule, meaning], ANYONE), backoff: classBackoff(undefined) };
}

/** Failures outside the story's control. */
function otherFailures(rule: RetryRule, retries: number, what: string) {
  const meaning = 'Maximum number of retries of a story after such failures.';
  return { ...ownFailures(rule, what), retries: key(wholeNumber(0, 100), ['whole number', retries, meaning], ANYONE) };
}

function classBackoff(preset: string | undefined) {
  return key(Duration.optional(), ['duration', preset, 'Overrides `retry.backoff` for these failures.'], ANYONE);
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
