import { expect, test } from 'vitest';
import type { JournalEntry } from '../../../src/core/journal/events.ts';
import { needsText, unmetNeeds } from '../../../src/core/run/run-dependencies.ts';
import type { RunState } from '../../../src/core/run/state.ts';
import { created, stateOf } from '../../support/journal.ts';

type NeedChange = JournalEntry & { type: 'need.changed' };

function fold(...changes: Omit<NeedChange, 'type'>[]): RunState {
  const first: JournalEntry = { ...created(), after: ['aaaaaaaa', 'bbbbbbbb'] };
  const entries: JournalEntry[] = [
    first,
    ...changes.map((change): NeedChange => ({ type: 'need.changed', ...change })),
  ];
  return stateOf(...entries);
}

test('a run waits for all its dependencies, is blocked by one that failed, and continues when that one succeeds later', () => {
  expect(needsText(fold())).toBe('waiting for aaaaaaaa, bbbbbbbb');
  const met = { run: 'aaaaaaaa', now: 'met' } as const;
  const failed = { run: 'bbbbbbbb', now: 'failed', stopReason: 'GATE_FAILED' } as const;
  expect(needsText(fold(met))).toBe('waiting for bbbbbbbb');
  expect(needsText(fold(met, failed))).toBe('blocked: bbbbbbbb ended with GATE_FAILED');
  expect(needsText(fold(met, failed, { run: 'bbbbbbbb', now: 'open' }))).toBe('waiting for bbbbbbbb');
  const all = fold(met, failed, { run: 'bbbbbbbb', now: 'met' });
  expect(needsText(all)).toBeUndefined();
  expect(unmetNeeds(all)).toEqual([]);
});

test('a run builds on the base of its dependency, and a second event for the same dependency changes nothing', () => {
  const [first, second] = ['1'.repeat(40), '2'.repeat(40)];
  const state = fold({ run: 'aaaaaaaa', now: 'met', base: first }, { run: 'aaaaaaaa', now: 'met', base: second });
  expect(state).toMatchObject({ tip: first, repo: { base: first } });
});
