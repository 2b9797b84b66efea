import { expect, it } from 'vitest';
import { watchRuns } from '../../../src/api/runs/watch-runs.ts';

it('warns of no leak while it follows many runs', async () => {
  const ids = Array.from({ length: 12 }, (_, index) => `run${index}`);
  const stop = new AbortController();
  const warnings: Error[] = [];
  const note = (warning: Error) => void warnings.push(warning);
  process.on('warning', note);
  let [looks, followed] = [0, 0];
  const watching = watchRuns(
    {
      // The second look finds the runs.
      openRunsChangedAt: () => Promise.resolve(++looks),
      runIds: () => Promise.resolve(looks === 1 ? [] : ids),
      openRuns: () => Promise.resolve([]),
      journalBytes: () => Promise.resolve(1),
      async *follow(_runId, { signal }) {
        followed += 1;
        await new Promise<void>((resolve) => signal?.addEventListener('abort', () => resolve(), { once: true }));
      },
    },
    { signal: stop.signal, onEvent: () => undefined },
  );
  await expect.poll(() => followed, { timeout: 10_000 }).toBe(ids.length);
  await new Promise(setImmediate);
  stop.abort();
  await watching;
  process.off('warning', note);
  expect(warnings).toEqual([]);
});
