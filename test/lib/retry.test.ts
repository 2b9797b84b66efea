import { expect, test } from 'vitest';
import { retry } from '../../src/lib/async.ts';

/** A function that fails a number of times, and the number of its calls. */
function failing(times: number) {
  let calls = 0;
  return {
    calls: () => calls,
    work: () => (++calls > times ? Promise.resolve('done') : Promise.reject(new Error(`failure ${calls}`))),
  };
}

test('a call that succeeds after failures returns its result', async () => {
  const { work, calls } = failing(2);
  expect(await retry(work, { delaysMs: [0, 1, 0] })).toBe('done');
  expect(calls()).toBe(3);
});

test('the last error is thrown when no retry is left', async () => {
  const { work, calls } = failing(5);
  await expect(retry(work, { delaysMs: [0, 0] })).rejects.toThrow('failure 3');
  expect(calls()).toBe(3);
});

test('an error that is not retryable is thrown immediately', async () => {
  const { work, calls } = failing(5);
  const isRetryable = (error: unknown) => !(error as Error).message.includes('2');
  await expect(retry(work, { delaysMs: [0, 0, 0], isRetryable })).rejects.toThrow('failure 2');
  expect(calls()).toBe(2);
});
