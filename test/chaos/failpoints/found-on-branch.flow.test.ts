import { describe, expect, it, vi } from 'vitest';
import type { Failpoint } from '../../../src/core/failure/failpoint-names.ts';
import { checkInvariants } from '../../support/faults/check-invariants.ts';
import { countContainers } from '../../support/faults/count-containers.ts';
import { belowLevel, FULL } from '../../support/suite/level.ts';
import { openWorld, stopWorker, tidyUp } from '../../support/faults/world.ts';
import { skipFor } from '../../support/skip.ts';

vi.setConfig({ maxConcurrency: 4 });

/** After the branch of the run has moved, before the queue is notified. */
const points: Failpoint[] = ['ref.after', 'mirror.after', 'note.after', 'story.ended.before', 'job.done'];

describe.concurrent(
  'hazard 5: a worker is killed after landing and before recording it',
  skipFor(belowLevel(FULL)),
  () => {
    it.for(points)('the next worker starts no container after a kill at %s', async (at) => {
      const world = openWorld();
      try {
        const repository = world.addRepository();
        const runId = await world.submit(repository, [{ id: 'A' }]);
        const made = await countContainers(runId);
        const first = world.startWorker({ HALO_FAILPOINT: `${at}:kill` });
        await first.ended;
        await world.expireLocks();
        expect(first.process.signalCode, first.stderr()).toBe('SIGKILL');
        const before = made.soFar();
        expect(before).toBeGreaterThan(2);
        const second = world.startWorker();
        await world.untilEnded(runId);
        await stopWorker(second);
        expect(made.soFar()).toBe(before);
        made.stop();
        expect(world.journal(runId).filter(({ type }) => type === 'story.started')).toHaveLength(1);
        await tidyUp(world);
        await checkInvariants(world, [{ runId, repository, main: 'unchanged', landed: ['A'] }]);
      } finally {
        await world.close();
      }
    });
  },
);
