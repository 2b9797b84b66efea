import { expect, it } from 'vitest';
import { memoizeAsync } from '../../src/lib/async.ts';

it('calls the function once for each key, also for concurrent callers', async () => {
  const asked: string[] = [];
  const ask = memoizeAsync((key: string) => Promise.resolve(asked.push(key)));
  await Promise.all([ask('a'), ask('a'), ask('b')]);
  expect(await ask('a')).toBe(1);
  expect(asked).toEqual(['a', 'b']);
});

it('calls it again after a failure', async () => {
  let times = 0;
  const ask = memoizeAsync(() => ((times += 1) === 1 ? Promise.reject(new Error('away')) : Promise.resolve('here')));
  await expect(ask('a')).rejects.toThrow('away');
  expect(await ask('a')).toBe('here');
});
