import { describe, expect, it } from 'vitest';
import type { BreakerPolicy } from '../../../src/core/failure/breaker.ts';
import type { ClassPolicy, FailureCause, RetryPolicy } from '../../../src/core/failure/failure.ts';
import { judgeFailure, judgeInterruption, type FailedAttempt } from '../../../src/core/failure/judge-failure.ts';
import type { StopReason } from '../../../src/core/failure/stop-reason.ts';
import type { JournalEntry } from '../../../src/core/journal/events.ts';
import { resolveConfig } from '../../../src/config/resolve.ts';
import { attempted, created, failed, stateOf } from '../../support/journal.ts';

const { config } = resolveConfig({ cwd: '/' });
const each: ClassPolicy = { rule: 'hint', backoffMs: 1_000, retries: 1 };
const retry: RetryPolicy = {
  ...config.retry,
  ...{ attempts: 2, jitter: 0, multiplier: 2 },
  ...{ agent: each, story: each, gate: each, tests: each, policy: each, environment: each, infrastructure: each },
  provider: { ...each, rule: 'wait' },
  budget: { ...each, rule: 'halt' },
};
const breaker: BreakerPolicy = config.breaker;
const NOW = Date.UTC(2030, 0, 1);
const story = 'US-001';
const running = (...entries: JournalEntry[]) =>
  stateOf(created('r', 2), { type: 'run.started' }, ...entries, ...attempted(story));

describe('judgeFailure', () => {
  const judge = (failure: Partial<FailedAttempt>, state = running()) =>
    judgeFailure(
      state,
      { story, attempt: 1, stopReason: 'GATE_FAILED', summary: 'npm test failed', ...failure },
      { policies: { retry, breaker }, now: NOW },
    );

  it.each<[StopReason, FailureCause | undefined, object]>([
    ['GATE_FAILED', undefined, { class: 'gate', rule: 'hint' }],
    ['GATE_FAILED', 'program-missing', { class: 'environment', rule: 'halt' }],
    ['INVALID_OUTPUT', 'no-changes', { class: 'agent', rule: 'hint' }],
    ['GATE_FAILED', 'base-broken', { class: 'environment', rule: 'halt' }],
    ['GATE_FAILED', 'base-fails', { class: 'gate', rule: 'hint' }],
    ['GATE_FAILED', 'setup-failed', { class: 'environment', rule: 'hint' }],
    ['ENGINE_ERROR', 'context-overflow', { class: 'story', rule: 'fresh' }],
    ['ENGINE_ERROR', 'rate-limited', { class: 'provider', rule: 'wait' }],
    ['ENGINE_ERROR', 'permission-denied', { class: 'policy', rule: 'halt' }],
    ['POLICY_VIOLATION', undefined, { class: 'policy', rule: 'hint' }],
    ['POLICY_VIOLATION', 'nested-repository', { class: 'story', rule: 'hint' }],
    ['POLICY_VIOLATION', 'unreadable-files', { class: 'story', rule: 'hint' }],
    ['BUDGET_EXCEEDED', undefined, { class: 'budget', rule: 'halt' }],
  ])('%s with the cause %s is classified', (stopReason, cause, failure) => {
    expect(judge({ stopReason, cause }).failure).toMatchObject(failure);
  });

  it('identifies a failure of the environment by its cause, but one of setup by its summary', () => {
    const signOf = (cause: FailureCause) =>
      judge({ stopReason: 'GATE_FAILED', cause, summary: 'a' }).failure.sign.error;
    expect(signOf('base-broken')).toBe('base-broken');
    expect(signOf('setup-failed')).toBe('GATE_FAILED: a');
  });

  it('schedules a retry with its time and the first line of the reason', () => {
    const { entries } = judge({ summary: 'first line\nsecond line' });
    const notBefore = new Date(NOW + 1_000).toISOString();
    const expected = { class: 'gate', rule: 'hint', nth: 1, of: 1, notBefore, why: 'first line' };
    expect(entries).toEqual([{ type: 'retry.scheduled', story, attempt: 1, ...expected }]);
  });

  it('schedules none after the last attempt', () => {
    const second = stateOf(created('r', 2), ...failed(story), ...attempted(story, 2));
    const before = { ...second, stories: second.stories.map((one) => ({ ...one, failures: { gate: 1 } })) };
    const { failure, entries } = judge({ attempt: 2 }, before);
    expect(failure.rule).toBe('halt');
    expect(entries).toEqual([]);
  });

  it('repeats work that conflicts with another story immediately, at no cost of an attempt', () => {
    const { failure, entries } = judge({ stopReason: 'CONFLICT', conflicts: ['a.ts'] });
    expect(failure).toMatchObject({ class: 'environment', rule: 'wait' });
    expect(entries).toMatchObject([{ type: 'retry.scheduled', notBefore: new Date(NOW).toISOString() }]);
  });

  it.each<[string, Partial<FailedAttempt>, object]>([
    ['whether files changed and how much was printed', { changed: true, output: 10 }, { changed: true, output: 10 }],
    ['a denied permission', { denied: 'rm' }, { denied: true }],
    [
      'a refused key as denied',
      { stopReason: 'ENGINE_ERROR', cause: 'key-refused' },
      { denied: true, error: 'key-refused' },
    ],
    ['the reason of a failed story', {}, { error: 'GATE_FAILED: npm test failed', denied: false, kind: 'gate' }],
  ])('notes %s for the breakers', (_name, failure, sign) => expect(judge(failure).failure.sign).toMatchObject(sign));

  it('says nothing about output if there was none', () => {
    expect(judge({}).failure.sign).not.toHaveProperty('output');
  });
});

describe('judgeInterruption', () => {
  const judge = (cause: FailureCause | undefined, state = running()) =>
    judgeInterruption(
      state,
      { story, attempt: 1, stopReason: 'INFRASTRUCTURE', summary: 'Docker is away.', cause },
      { policies: { retry }, now: NOW },
    );

  it('records a fault and schedules a retry', () => {
    expect(judge('server-away')).toMatchObject([
      { type: 'story.disturbed', class: 'infrastructure', summary: 'Docker is away.' },
      { type: 'retry.scheduled', class: 'infrastructure', nth: 1, of: 1 },
    ]);
  });

  it('schedules no retry if only a user can fix the cause, or if none is left', () => {
    const types = (entries: JournalEntry[]) => entries.map(({ type }) => type);
    const state = running();
    const tried = { ...state, stories: state.stories.map((one) => ({ ...one, failures: { infrastructure: 1 } })) };
    expect(types(judge('misconfigured'))).toEqual(['story.disturbed']);
    expect(types(judge('server-away', tried))).toEqual(['story.disturbed']);
  });
});
