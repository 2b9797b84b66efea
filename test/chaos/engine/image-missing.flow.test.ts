import { expect, it, onTestFinished } from 'vitest';
import { checkInvariants } from '../../support/faults/check-invariants.ts';
import { openWorld, stopWorker, tidyUp } from '../../support/faults/world.ts';

it(
  'hazard 34: a run whose image is missing ends with a clear error, and another one lands',
  { timeout: 300_000 },
  async () => {
    const world = openWorld();
    onTestFinished(() => world.close());
    const [poor, rich] = [world.addRepository(), world.addRepository()];
    const worker = world.startWorker();
    const missing = await world.submit(poor, [{ id: 'A' }], ['image="no-such-image:1"']);
    const other = await world.submit(rich, [{ id: 'B' }]);
    await world.untilEnded(missing);
    await world.untilEnded(other);
    expect(world.journal(missing).at(-1)).toMatchObject({
      detail: expect.stringContaining('The image "no-such-image:1" is not on this machine') as string,
    });
    await stopWorker(worker);
    await tidyUp(world);
    await checkInvariants(world, [
      { runId: missing, repository: poor, main: 'unchanged', landed: [], stopReason: 'MISSING_DEPENDENCY' },
      { runId: other, repository: rich, main: 'unchanged', landed: ['B'] },
    ]);
  },
);
