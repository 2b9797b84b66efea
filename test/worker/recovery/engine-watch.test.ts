import { afterEach, beforeEach, expect, it, vi } from 'vitest';
import type { EngineStanding } from '../../../src/core/engine/engine-standing.ts';
import { EngineWatch } from '../../../src/worker/recovery/engine-watch.ts';

let watch: EngineWatch;
let isAway: boolean;
let missing: Error | undefined;
let asked: number;
let changes: EngineStanding[];
beforeEach(() => {
  vi.useFakeTimers();
  [isAway, missing, asked, changes] = [false, undefined, 0, []];
  watch = new EngineWatch({
    ask: () => {
      asked += 1;
      return isAway ? Promise.reject(new Error('away')) : Promise.resolve(missing);
    },
    everyMs: 1_000,
    goneMs: 5_000,
    onChange: (standing) => changes.push(standing),
  });
});
afterEach(() => {
  watch.close();
  vi.useRealTimers();
});

it('asks the engine again and again, and reports nothing while it answers', async () => {
  await watch.start();
  await vi.advanceTimersByTimeAsync(10_000);
  expect([asked, changes]).toEqual([11, []]);
});

it('reports each change once: an engine that is silent, gone, and back', async () => {
  await watch.start();
  isAway = true;
  await vi.advanceTimersByTimeAsync(1_000);
  expect(changes).toEqual(['silent']);
  await vi.advanceTimersByTimeAsync(9_000);
  expect(changes).toEqual(['silent', 'gone']);
  isAway = false;
  await vi.advanceTimersByTimeAsync(2_000);
  expect(changes).toEqual(['silent', 'gone', 'answers']);
});

it('knows after its start whether the engine answers, and asks no more after its end', async () => {
  isAway = true;
  await watch.start();
  expect(changes).toEqual(['silent']);
  watch.close();
  await vi.advanceTimersByTimeAsync(60_000);
  expect([asked, changes]).toEqual([1, ['silent']]);
});

it('reports an engine that lacks an image like a silent one, but never as gone', async () => {
  missing = new Error('no image');
  await watch.start();
  await vi.advanceTimersByTimeAsync(60_000);
  expect(changes).toEqual(['silent']);
  missing = undefined;
  await vi.advanceTimersByTimeAsync(1_000);
  expect(changes).toEqual(['silent', 'answers']);
});
