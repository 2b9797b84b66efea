import { randomBytes } from 'node:crypto';
import { expect, test } from 'vitest';
import { newRunId, RUN_ID } from '../../src/lib/run-id.ts';

test('a run id is short and valid', () => {
  const id = newRunId(new Date(), randomBytes);
  expect(id).toMatch(RUN_ID);
  expect(id).toHaveLength(15);
});

test('run ids sort by age', () => {
  const ids = [0, 1, 2, 999, 1_000, 60_000, 86_400_000, 2_000_000_000_000].map((ms) =>
    newRunId(new Date(ms), randomBytes),
  );
  expect([...ids].sort()).toEqual(ids);
});

test('ids of the same moment differ only in their random part', () => {
  const now = new Date('2026-01-01T00:00:00Z');
  const low = newRunId(now, (n) => new Uint8Array(n));
  const high = newRunId(now, (n) => new Uint8Array(n).fill(255));
  expect(low.slice(9)).toBe('000000');
  expect(high.slice(9)).toBe('zzzzzz');
  expect(low.slice(0, 9)).toBe(high.slice(0, 9));
});
