import { randomBytes } from 'node:crypto';
import { expect, test } from 'vitest';
import { newRunId, RUN_ID } from '../../src/lib/run-id.ts';

test('a run id is short and valid', () => {
  const id = newRunId(new Date(), randomBytes);
  expect(id).toMatch(RUN_ID);
  expect(id).toHaveLength(15);
});

test('run ids sort by age', () => {
  const ids = [0, 1, 60, 86_400, 2_000_000_000].map((s) => newRunId(new Date(s * 1000), randomBytes));
  expect([...ids].sort()).toEqual(ids);
});

test('ids of the same moment differ only in their random part', () => {
  const now = new Date('2026-01-01T00:00:00Z');
  const low = newRunId(now, (n) => new Uint8Array(n));
  const high = newRunId(now, (n) => new Uint8Array(n).fill(255));
  expect(low.slice(7)).toBe('00000000');
  expect(high.slice(7)).toBe('zzzzzzzz');
  expect(low.slice(0, 7)).toBe(high.slice(0, 7));
});
