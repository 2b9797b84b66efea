import { expect, it } from 'vitest';
import { IGNORES_INSTALLED, openWorld, stopWorker, WITH_SNAPSHOT } from '../../support/faults/world.ts';

it('a snapshot is made once by two workers whose runs need it at the same time', async () => {
  const world = openWorld();
  try {
    const repository = world.addRepository(IGNORES_INSTALLED);
    const workers = [world.startWorker(), world.startWorker()];
    await Promise.all(workers.map((worker) => worker.says('running up to')));
    const setup = 'setup=["sleep 2; mkdir -p node_modules && date > node_modules/installed"]';
    const submit = () => world.submit(repository, [{ id: 'A' }], [...WITH_SNAPSHOT, setup]);
    const runs = await Promise.all([submit(), submit()]);
    await Promise.all(runs.map((runId) => world.untilEnded(runId)));
    await Promise.all(workers.map((worker) => stopWorker(worker)));
    const events = runs.flatMap((runId) => world.journal(runId));
    expect(events.flatMap((event) => (event.type === 'run.ended' ? [event.stopReason] : []))).toEqual(['SUCCESS', 'SUCCESS']); // prettier-ignore
    expect(new Set(events.flatMap((event) => (event.type === 'story.started' ? [event.worker] : []))).size).toBe(2);
    expect(events.filter(({ type }) => type === 'setup.ended')).toHaveLength(1);
    expect(events.filter(({ type }) => type === 'snapshot.used')).toHaveLength(4);
  } finally {
    await world.close();
  }
});
