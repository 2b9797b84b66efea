import { expect, it } from 'vitest';
import { mapConcurrent } from '../../src/lib/async.ts';

it('limits concurrency, keeps the order of results, and starts nothing after a failure', async () => {
  let [now, most, begun] = [0, 0, 0];
  const work = async (item: number) => {
    begun += 1;
    most = Math.max(most, (now += 1));
    await new Promise((resolve) => setImmediate(resolve));
    now -= 1;
    if (item === 20) throw new Error('no');
    return item * 2;
  };
  const items = Array.from({ length: 20 }, (_, index) => index);
  expect(await mapConcurrent(items, 3, work)).toEqual(items.map((item) => item * 2));
  expect(most).toBe(3);
  begun = 0;
  await expect(mapConcurrent([20, ...Array.from({ length: 100 }, () => 1)], 3, work)).rejects.toThrow('no');
  expect(begun).toBeLessThan(10);
  expect(await mapConcurrent([], 3, work)).toEqual([]);
});
