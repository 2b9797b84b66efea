import { expect, test } from 'vitest';
import { defined, isRecord } from '../../src/lib/guards.ts';

test.each([
  [{}, true],
  [{ a: 1 }, true],
  [[], false],
  [null, false],
  ['text', false],
  [undefined, false],
])('isRecord(%j) is %s', (value, expected) => expect(isRecord(value)).toBe(expected));

test('defined drops undefined properties and keeps all others in their order', () => {
  const copy = defined({ a: undefined, b: 0, c: null, d: '' });
  expect(Object.entries(copy)).toEqual([
    ['b', 0],
    ['c', null],
    ['d', ''],
  ]);
});
