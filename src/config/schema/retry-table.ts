import { z } from 'zod';
import { RETRY_RULES, type RetryRule } from '../../core/failure/failure.ts';
import { key } from '../key-facts.ts';
import { Duration, oneOf, wholeNumber } from './values.ts';

const SHARE = 'must be a number from 0 to 1';
const FACTOR = 'must be a number from 1 to 10';

/** `[retry]`: how failures are met, by class. */
export const RetryTable = z.strictObject({
  attempts: key(wholeNumber(1, 100), [
    'whole number',
    3,
    'Most attempts at one story that end in failures of its own: of the agent, the story or a gate.',
  ]),
  backoff: key(Duration, ['duration', '30s', 'Wait before the first retry.']),
  max_backoff: key(Duration, ['duration', '5m', 'Longest wait before a retry.']),
  multiplier: key(z.number({ error: FACTOR }).min(1, FACTOR).max(10, FACTOR), [
    'number',
    2,
    'What each wait is multiplied by to give the next.',
  ]),
  jitter: key(z.number({ error: SHARE }).min(0, SHARE).max(1, SHARE), [
    'number',
    0.2,
    'Share of a wait that chance may take off, so that many runs do not come back at the same moment.',
  ]),
  crashes: key(wholeNumber(1, 100), [
    'whole number',
    10,
    'Most times in a row that workers may die in the middle of one story before it fails.',
  ]),
  agent: z.strictObject(ownFailures('hint', 'The agent program failed or gave no valid answer')),
  story: z.strictObject(ownFailures('hint', 'The agent gave up, took too long or used too much memory')),
  gate: z.strictObject(ownFailures('hint', 'A gate failed')),
  policy: z.strictObject(otherFailures('hint', 1, 'What the agent left behind may not enter the repository')),
  environment: z.strictObject(otherFailures('wait', 2, 'Setup failed, the branch moved, or the disk is nearly full')),
  infrastructure: z.strictObject({
    ...otherFailures('wait', 6, 'Docker, Redis, git or the disk failed'),
    backoff: classBackoff('5s'),
  }),
  provider: z.strictObject(otherFailures('wait', 10, 'The model’s provider limits requests, failed or is away')),
  budget: z.strictObject(otherFailures('halt', 0, 'A budget is used up')),
});

/** `[breaker]`: when halo stops trying. */
export const BreakerTable = z.strictObject({
  no_change: key(wholeNumber(0, 100), ['whole number', 3, 'Failures in a row without a changed file that open it.']),
  same_error: key(wholeNumber(0, 100), ['whole number', 5, 'Failures in a row with the same error that open it.']),
  output_decline: key(wholeNumber(0, 100), [
    'whole number',
    70,
    'By how many percent less than the one before a failed attempt must have said to open it.',
  ]),
  permission_denials: key(wholeNumber(0, 100), [
    'whole number',
    2,
    'Failures in a row for a lack of permission that open it.',
  ]),
  cooldown: key(Duration, ['duration', '30m', 'How long it stays open before one story may try.']),
});

/** Failures that use up attempts. */
function ownFailures(rule: RetryRule, what: string) {
  const meaning = `${what}: \`hint\`, \`fresh\`, \`wait\` or \`halt\` ([rules](failures.md#rules)).`;
  return { rule: key(oneOf(...RETRY_RULES), ['word', rule, meaning]), backoff: classBackoff(undefined) };
}

/** Failures that the story cannot help. */
function otherFailures(rule: RetryRule, retries: number, what: string) {
  const meaning = 'Most retries of one story after such failures.';
  return { ...ownFailures(rule, what), retries: key(wholeNumber(0, 100), ['whole number', retries, meaning]) };
}

function classBackoff(preset: string | undefined) {
  return key(Duration.optional(), ['duration', preset, 'Like `retry.backoff`, for these failures alone.']);
}
