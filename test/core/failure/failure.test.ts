import { describe, expect, it } from 'vitest';
import {
  backoff,
  classifyFailure,
  consumesAttempt,
  decideRetry,
  retryName,
  FAILURE_CLASSES,
  type ClassPolicy,
  type FailureTally,
  type RetryPolicy,
} from '../../../src/core/failure/failure.ts';

const EACH: ClassPolicy = { rule: 'hint', backoffMs: undefined, retries: 2 };
const POLICY: RetryPolicy = {
  attempts: 3,
  backoffMs: 1000,
  maxBackoffMs: 5000,
  multiplier: 2,
  jitter: 0,
  crashes: 10,
  maxWaitMs: 3_600_000,
  agent: EACH,
  story: EACH,
  gate: EACH,
  tests: EACH,
  policy: EACH,
  environment: EACH,
  infrastructure: { ...EACH, rule: 'wait', backoffMs: 100 },
  provider: { ...EACH, rule: 'wait' },
  budget: { ...EACH, rule: 'halt' },
};

describe('classify', () => {
  it.each([
    [{ stopReason: 'ENGINE_ERROR', phase: 'agent' }, { class: 'agent' }],
    [{ stopReason: 'INVALID_OUTPUT', phase: 'import' }, { class: 'agent' }],
    [{ stopReason: 'TIMEOUT', phase: 'agent' }, { class: 'story' }],
    [{ stopReason: 'ENGINE_ERROR', phase: 'agent', cause: 'gave-up' }, { class: 'story' }],
    [
      { stopReason: 'ENGINE_ERROR', phase: 'agent', cause: 'context-overflow' },
      { class: 'story', rule: 'fresh' },
    ],
    [{ stopReason: 'GATE_FAILED', phase: 'gates' }, { class: 'gate' }],
    [{ stopReason: 'TIMEOUT', phase: 'gates' }, { class: 'gate' }],
    [{ stopReason: 'OUT_OF_MEMORY', phase: 'gates' }, { class: 'gate' }],
    [{ stopReason: 'GATE_FAILED', phase: 'setup' }, { class: 'environment' }],
    [{ stopReason: 'POLICY_VIOLATION', phase: 'import' }, { class: 'policy' }],
    [{ stopReason: 'ENGINE_ERROR', phase: 'gates', cause: 'disk-floor' }, { class: 'environment' }],
    [
      { stopReason: 'ENGINE_ERROR', phase: 'agent', cause: 'key-refused' },
      { class: 'provider', rule: 'halt' },
    ],
    [{ stopReason: 'ENGINE_ERROR', phase: 'agent', cause: 'rate-limited' }, { class: 'provider' }],
    [{ stopReason: 'BUDGET_EXCEEDED', phase: 'agent' }, { class: 'budget' }],
    [{ stopReason: 'INFRASTRUCTURE' }, { class: 'infrastructure' }],
    [{ stopReason: 'UNKNOWN_ERROR' }, { class: 'infrastructure' }],
    [
      { stopReason: 'MISSING_DEPENDENCY', cause: 'misconfigured' },
      { class: 'environment', rule: 'halt' },
    ],
  ] as const)('%j is %j', (facts, kind) => {
    expect(classifyFailure(facts)).toMatchObject(kind);
  });

  it('only failures of agent, story and gate use up attempts', () => {
    expect(FAILURE_CLASSES.filter(consumesAttempt)).toEqual(['agent', 'story', 'gate']);
  });
});

describe('decideRetry', () => {
  const decide = (kind: Parameters<typeof decideRetry>[0]['kind'], before: FailureTally = {}, policy = POLICY) =>
    decideRetry({ kind, before, policy, seed: 'run/story/1' });

  it('counts the failures of agent, story and gate together against the attempts', () => {
    expect(decide({ class: 'gate' })).toEqual({ class: 'gate', rule: 'hint', retry: { nth: 1, of: 2, waitMs: 1000 } });
    expect(decide({ class: 'gate' }, { agent: 1 }).retry).toEqual({ nth: 2, of: 2, waitMs: 2000 });
    expect(decide({ class: 'agent' }, { story: 1, gate: 1 })).toEqual({ class: 'agent', rule: 'halt' });
  });

  it('does not count provider failures as attempts, and limits their retries', () => {
    expect(decide({ class: 'gate' }, { provider: 2, infrastructure: 2 }).retry?.nth).toBe(1);
    expect(decide({ class: 'provider' }, { gate: 2 })).toMatchObject({ rule: 'wait', retry: { nth: 1, of: 2 } });
    expect(decide({ class: 'provider' }, { provider: 2 })).toEqual({ class: 'provider', rule: 'halt' });
  });

  it('uses the delay of each class', () => {
    expect(decide({ class: 'infrastructure' }).retry?.waitMs).toBe(100);
  });

  it('applies the rule of a cause before that of its class, and never retries with the rule halt', () => {
    expect(decide({ class: 'provider', rule: 'halt' })).toEqual({ class: 'provider', rule: 'halt' });
    expect(decide({ class: 'story', rule: 'fresh' })).toMatchObject({ rule: 'fresh', retry: { nth: 1 } });
    expect(decide({ class: 'budget', rule: 'fresh' })).toEqual({ class: 'budget', rule: 'halt' });
  });
});

describe('backoff', () => {
  const after = (failures: number, jitter: number, seed = 'a') => backoff({ ...POLICY, jitter }, { failures, seed });

  it('doubles up to a cap', () => {
    expect([1, 2, 3, 4, 50].map((failures) => after(failures, 0))).toEqual([1000, 2000, 4000, 5000, 5000]);
  });

  it('is always the same for the same failure, and never longer because of jitter', () => {
    expect(after(2, 0.5)).toBe(after(2, 0.5));
    const waits = Array.from({ length: 200 }, (_, index) => after(1, 0.5, `run/story/${index}`));
    expect(Math.max(...waits)).toBeLessThanOrEqual(1000);
    expect(Math.min(...waits)).toBeGreaterThanOrEqual(500);
    expect(new Set(waits).size).toBeGreaterThan(100);
    const mean = waits.reduce((sum, wait) => sum + wait, 0) / waits.length;
    expect(Math.abs(mean - 750)).toBeLessThan(50);
  });
});

it('a retry is counted as an attempt if it uses one up', () => {
  expect(retryName({ class: 'gate', nth: 1, of: 2 })).toBe('attempt 2 of 3');
  expect(retryName({ class: 'provider', nth: 1, of: 10 })).toBe('retry 1 of 10');
});
