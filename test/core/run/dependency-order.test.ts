import { describe, expect, test } from 'vitest';
import { dependenciesFirst, findCycle } from '../../../src/core/run/dependency-order.ts';

/** Dependencies by name, such as `a:b,c`. */
function graph(text: string): { items: string[]; dependenciesOf: (item: string) => string[] } {
  const rows = text.split(' ').map((row) => row.split(':'));
  const needed = new Map(rows.map(([item = '', list = '']) => [item, list.split(',').filter(Boolean)]));
  return { items: [...needed.keys()], dependenciesOf: (item) => needed.get(item) ?? [] };
}

describe('dependency order', () => {
  test.each([
    ['a b c', 'a b c'],
    ['a:c b c', 'c a b'],
    ['a:b b:c c:d d', 'd c b a'],
    ['a:b,c b:d c:d d', 'd b c a'],
    ['a:b b:a c', 'b a c'],
  ])('items follow their dependencies and otherwise keep their order: %s', (text, expected) => {
    const { items, dependenciesOf } = graph(text);
    expect(dependenciesFirst(items, dependenciesOf).join(' ')).toBe(expected);
  });

  test.each([
    ['a:b b:c c', undefined],
    ['a:a', 'a'],
    ['a:b b:c c:b', 'b c'],
    ['x a:b,x b:c c:a', 'a b c'],
    ['a:b,c b:d c:d d', undefined],
  ])('a cycle begins where the first item leads to it: %s', (text, expected) => {
    const { items, dependenciesOf } = graph(text);
    expect(findCycle(items, dependenciesOf)?.join(' ')).toBe(expected);
  });

  test('chains of 100,000 items need no recursion', () => {
    const items = Array.from({ length: 100_000 }, (_, index) => index);
    const dependenciesOf = (item: number) => (item + 1 < items.length ? [item + 1] : []);
    expect(dependenciesFirst(items, dependenciesOf)[0]).toBe(99_999);
    expect(findCycle(items, dependenciesOf)).toBeUndefined();
  });
});
