import { expect, test } from 'vitest';
import type { JournalEntry } from '../../../src/core/journal/events.ts';
import { needsText, unmetNeeds } from '../../../src/core/run/run-dependencies.ts';
import { foldRun } from '../../../src/core/journal/fold-run.ts';
import type { RunState } from '../../../src/core/run-state.ts';
import { created } from '../../support/runs.ts';

type NeedChange = JournalEntry & { type: 'need.changed' };

function fold(...changes: Omit<NeedChange, 'type'>[]): RunState {
  const first: JournalEntry = { ...created(), after: ['aaaaaaaa', 'bbbbbbbb'] };
  const entries: JournalEntry[] = [
    first,
    ...changes.map((change): NeedChange => ({ type: 'need.changed', ...change })),
  ];
  const state = foldRun(entries.map((entry, at) => ({ v: 1, seq: at + 1, at: '2030-01-01T00:00:00.000Z', ...entry })));
  if (state === undefined) throw new Error('no state');
  return state;
}

test('a run waits for all that it needs, is blocked by one that failed, and goes on when that went well after all', () => {
  expect(needsText(fold())).toBe('waits for aaaaaaaa, bbbbbbbb');
  const met = { run: 'aaaaaaaa', now: 'met' } as const;
  const failed = { run: 'bbbbbbbb', now: 'failed', stopReason: 'GATE_FAILED' } as const;
  expect(needsText(fold(met))).toBe('waits for bbbbbbbb');
  expect(needsText(fold(met, failed))).toBe('blocked: bbbbbbbb ended with GATE_FAILED');
  expect(needsText(fold(met, failed, { run: 'bbbbbbbb', now: 'open' }))).toBe('waits for bbbbbbbb');
  const all = fold(met, failed, { run: 'bbbbbbbb', now: 'met' });
  expect(needsText(all)).toBeUndefined();
  expect(unmetNeeds(all)).toEqual([]);
});

test('a run builds on the base that its need brings, and a second word on the same need changes nothing', () => {
  const [first, second] = ['1'.repeat(40), '2'.repeat(40)];
  const state = fold({ run: 'aaaaaaaa', now: 'met', base: first }, { run: 'aaaaaaaa', now: 'met', base: second });
  expect(state).toMatchObject({ tip: first, repo: { base: first } });
});
