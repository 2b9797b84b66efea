import { expect, test } from 'vitest';
import { findClosest } from '../../src/lib/text.ts';

const NAMES = ['agent', 'setup', 'gates', 'limits.memory', 'limits.pids'];

test.each([
  ['agnet', 'agent'],
  ['Agent', 'agent'],
  ['gate', 'gates'],
  ['limits.memroy', 'limits.memory'],
  ['limit.memory', 'limits.memory'],
])('%s is corrected to %s', (word, name) => {
  expect(findClosest(word, NAMES)).toBe(name);
});

test('a word unlike all names has no closest name', () => {
  expect(findClosest('budget', NAMES)).toBeUndefined();
  expect(findClosest('x', [])).toBeUndefined();
});
