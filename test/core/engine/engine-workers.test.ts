import { expect, test } from 'vitest';
import { afterEnd, workerSteps, type WatchedWorker } from '../../../src/core/engine/engine-workers.ts';

const NOW = 100_000;
const worker = (state: WatchedWorker['state'], part: Partial<WatchedWorker> = {}): WatchedWorker => ({
  ...{ settings: 'a', state, at: NOW - 5_000, failures: 0 },
  ...part,
});

test.each<[string, { wanted?: string; watched?: WatchedWorker; steps: string[] }]>([
  ['that is new is started', { wanted: 'a', steps: ['start'] }],
  ['that runs is left alone', { wanted: 'a', watched: worker('runs'), steps: [] }],
  ['that config.toml has no more is stopped', { watched: worker('runs'), steps: ['stop'] }],
  [
    'with other settings is stopped, and started when it has ended',
    { wanted: 'b', watched: worker('runs'), steps: ['stop'] },
  ],
  ['that stops is waited for', { wanted: 'b', watched: worker('stops'), steps: [] }],
  ['that ended waits', { wanted: 'a', watched: worker('ended', { at: NOW + 1 }), steps: [] }],
  ['that has waited is started', { wanted: 'a', watched: worker('ended', { at: NOW }), steps: ['start'] }],
  [
    'that ended is started sooner with other settings',
    { wanted: 'b', watched: worker('ended', { at: NOW + 9 }), steps: ['start'] },
  ],
  ['that ended and is not wanted is forgotten', { watched: worker('ended', { at: NOW + 9 }), steps: ['forget'] }],
])('an engine %s', (_what, { wanted, watched, steps }) => {
  const found = workerSteps(
    new Map(wanted === undefined ? [] : [['e', wanted]]),
    new Map(watched === undefined ? [] : [['e', watched]]),
    NOW,
  );
  expect(found).toEqual(steps.map((each) => ({ engine: 'e', do: each })));
});

test('a worker that ends again and again starts later each time, at most a minute', () => {
  const delays: number[] = [];
  let known = worker('runs', { at: 0 });
  let now = 0;
  for (let index = 0; index < 9; index++) {
    const after = afterEnd(known, now);
    delays.push((after.at - now) / 1000);
    now = after.at;
    known = { ...after, state: 'runs' };
  }
  expect(delays).toEqual([1, 2, 4, 8, 16, 32, 60, 60, 60]);
  // One that ran for a minute starts soon again.
  expect(afterEnd(known, known.at + 60_000)).toMatchObject({ failures: 1, at: known.at + 61_000 });
});
