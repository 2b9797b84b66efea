import { expect, test } from 'vitest';
import { keyedQueue, sleep } from '../../src/lib/async.ts';

test('tasks of one key run one at a time, in the order of the calls', async () => {
  const inOrder = keyedQueue();
  const seen: string[] = [];
  const task = (name: string, ms: number) => () =>
    sleep(ms).then(() => {
      seen.push(name);
      return name;
    });
  const results = await Promise.all([
    inOrder('a', task('first', 20)),
    inOrder('a', task('second', 0)),
    inOrder('a', task('third', 0)),
  ]);
  expect(seen).toEqual(['first', 'second', 'third']);
  expect(results).toEqual(seen);
});

test('tasks of other keys do not wait', async () => {
  const inOrder = keyedQueue();
  let release = (): void => undefined;
  const blocked = inOrder('a', () => new Promise<void>((resolve) => (release = resolve)));
  await inOrder('b', () => Promise.resolve());
  release();
  await blocked;
});

test('a failed task rejects its caller and does not stop the queue', async () => {
  const inOrder = keyedQueue();
  const failed = inOrder('a', () => Promise.reject(new Error('broken')));
  const next = inOrder('a', () => Promise.resolve('done'));
  await expect(failed).rejects.toThrow('broken');
  expect(await next).toBe('done');
});
