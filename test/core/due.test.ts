import { expect, test } from 'vitest';
import { isDue } from '../../src/core/due.ts';

test.each([
  ['it has come', 999, 10, true],
  ['it is now', 1_000, 10, true],
  ['it is within the wait', 1_010, 10, false],
  ['it is further ahead than the wait, so that the clock was wrong', 1_011, 10, true],
  ['its wait is unknown', 9_000, Infinity, false],
  ['it never comes', Infinity, 10, false],
])('a time is due or not: %s', (_name, notBefore, longestMs, due) =>
  expect(isDue(notBefore, { now: 1_000, longestMs })).toBe(due),
);
