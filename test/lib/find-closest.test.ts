import { expect, test } from 'vitest';
import { findNearest } from '../../src/lib/text.ts';

const NAMES = ['agent', 'setup', 'gates', 'limits.memory', 'limits.pids'];

test.each([
  ['agnet', 'agent'],
  ['Agent', 'agent'],
  ['gate', 'gates'],
  ['limits.memroy', 'limits.memory'],
  ['limit.memory', 'limits.memory'],
])('%s is taken for %s', (word, name) => {
  expect(findNearest(word, NAMES)).toBe(name);
});

test('a word that is like none has no nearest name', () => {
  expect(findNearest('budget', NAMES)).toBeUndefined();
  expect(findNearest('x', [])).toBeUndefined();
});
