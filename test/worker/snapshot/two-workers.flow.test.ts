import { expect, it, vi } from 'vitest';
import { IGNORES_INSTALLED, NO_OP, openWorld, stopWorker, WITH_SNAPSHOT } from '../../support/faults/world.ts';
import { HOLD, releaseUntil } from '../../support/halo/hold.ts';
import { PATIENCE } from '../../support/patience.ts';

it('a snapshot is made once by two workers whose runs need it at the same time', async () => {
  const world = openWorld();
  try {
    const repository = world.addRepository(IGNORES_INSTALLED);
    const workers = [world.startWorker(), world.startWorker()];
    await Promise.all(workers.map((worker) => worker.says('running up to')));
    const setup = 'setup=["sleep 2; mkdir -p node_modules && date > node_modules/installed"]';
    const agent = `agents.command.run=${JSON.stringify(`${HOLD}; ${NO_OP}`)}`;
    const submit = () => world.submit(repository, [{ id: 'A' }], [...WITH_SNAPSHOT, setup, agent]);
    const runs = await Promise.all([submit(), submit()]);
    const typesOf = (runId: string) => world.journal(runId).map(({ type }) => type);
    await vi.waitFor(() => {
      for (const runId of runs) expect(typesOf(runId)).toContain('story.started');
    }, PATIENCE);
    await releaseUntil(
      () => runs,
      () => {
        for (const runId of runs) expect(typesOf(runId)).toContain('run.ended');
      },
    );
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
