import { expect, it, vi } from 'vitest';
import type { RunState } from '../../../src/core/run/state.ts';
import { scripted } from '../../support/halo/halo.ts';
import { openWorld } from '../../support/faults/world.ts';
import { PATIENCE } from '../../support/patience.ts';

it('halo retry --story immediately retries a story that waits for its next attempt', async () => {
  const world = openWorld();
  try {
    const { operations } = world;
    const settings = scripted('exit 1', ['true'], ['retry.attempts=2', 'retry.backoff="2h"', 'retry.max_backoff="2h"']);
    const runId = await world.submit(world.addRepository(), [{ id: 'A' }], settings);
    const until = (isSo: (state: RunState) => boolean) =>
      vi.waitFor(async () => {
        const { state } = await operations.getRun({ runId });
        expect(isSo(state), JSON.stringify(state.stories)).toBe(true);
      }, PATIENCE);
    const waits = ({ stories: [story] }: RunState) => story?.waiting !== undefined;
    // What is around the story fails once, then its agent does each time.
    world.startWorker({ HALO_FAILPOINT: 'prepare.after@1:throw' });
    await until((state) => waits(state) && state.stories[0]?.progress === 'in_progress');
    expect(await operations.retry({ runId, story: 'A' })).toMatchObject({ changed: true, stories: ['A'] });
    await until((state) => waits(state) && state.stories[0]?.progress === 'failed' && state.stories[0].attempts === 1);
    await operations.retry({ runId, story: 'A' });
    await until((state) => waits(state) && state.stories[0]?.attempts === 2);
    await operations.cancel({ runId });
  } finally {
    await world.close();
  }
});
