import { expect, test } from 'vitest';
import { deferred, latest } from '../../src/lib/async.ts';

test('calls during a call cause one more after it, which sees what they changed, also after a failure', async () => {
  const first = deferred<void>();
  const seen: number[] = [];
  let value = 1;
  const show = latest(async () => {
    seen.push(value);
    if (seen.length === 1) await first.promise;
  });
  const all = [show()];
  for (value of [2, 3, 4]) all.push(show());
  expect(seen).toEqual([1]);
  first.reject(new Error('refused'));
  await Promise.all(all);
  expect(seen).toEqual([1, 4]);
  value = 5;
  await show();
  expect(seen).toEqual([1, 4, 5]);
});
