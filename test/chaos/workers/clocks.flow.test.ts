import { writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { afterEach, beforeEach, describe, expect, it, vi } from 'vitest';
import type { TestRepository } from '../../support/repository/repository.ts';
import { checkInvariants } from '../../support/faults/check-invariants.ts';
import { clockFrom, clockOff, FAKETIME } from './false-time.ts';
import { belowLevel, FULL } from '../../support/suite/level.ts';
import { killWorker, NO_OP, openWorld, stopWorker, tidyUp, type World } from '../../support/faults/world.ts';
import { skipFor } from '../../support/skip.ts';

vi.setConfig({ testTimeout: 300_000 });

describe(
  'hazard 33: the clocks of workers',
  skipFor(belowLevel(FULL) || (FAKETIME === undefined && 'needs libfaketime')),
  () => {
    let world: World;
    let repository: TestRepository;

    beforeEach(() => {
      world = openWorld();
      repository = world.addRepository();
    });
    afterEach(() => world.close());

    const startsOf = (runId: string, story: string) =>
      world.journal(runId).filter((event) => event.type === 'story.started' && event.story === story).length;
    const untilEvent = (runId: string, type: string, count = 1) =>
      vi.waitFor(() => expect(world.journal(runId).filter((event) => event.type === type)).toHaveLength(count), {
        timeout: 120_000,
        interval: 20,
      });
    const expectOrder = (runId: string) => {
      const times = world.journal(runId).map(({ at }) => at);
      expect(times).toEqual(times.toSorted());
    };

    it('differ by ten minutes: retries, returned jobs and takeovers are on time', async () => {
      const runId = await world.submit(repository, [{ id: 'A' }, { id: 'B' }]);
      const fast = world.startWorker({ ...clockOff('+300s'), HALO_FAILPOINT: 'agent.after@1:throw' });
      await untilEvent(runId, 'retry.scheduled');
      await stopWorker(fast);
      // It takes the retry, and dies in the middle of the other story.
      const slow = world.startWorker({ ...clockOff('-300s'), HALO_FAILPOINT: 'gates.before@2:hang' });
      await slow.says('failpoint gates.before: hang');
      await killWorker(slow);
      const again = world.startWorker({ ...clockOff('+300s'), HALO_FAILPOINT: 'gates.before@1:delay=2000' });
      await again.says('failpoint gates.before: delay');
      await stopWorker(again);
      const last = world.startWorker(clockOff('-300s'));
      await world.untilEnded(runId);
      await stopWorker(last);
      expect([startsOf(runId, 'A'), startsOf(runId, 'B')]).toEqual([2, 3]);
      expectOrder(runId);
      await tidyUp(world);
      await checkInvariants(world, [{ runId, repository, main: 'unchanged', landed: ['A', 'B'] }]);
    });

    it('jump, an hour back and two hours forward, in the middle of a story: no limit ends it, nothing is repeated', async () => {
      const slowly = `agents.command.run=${JSON.stringify(`sleep 4; ${NO_OP}`)}`;
      const runId = await world.submit(repository, [{ id: 'A' }, { id: 'B' }], [slowly, 'limits.idle="1m"']);
      const offset = join(world.tmp, '..', 'offset');
      writeFileSync(offset, '+0');
      const worker = world.startWorker(clockFrom(offset));
      await untilEvent(runId, 'story.started');
      writeFileSync(offset, '-3600s');
      await untilEvent(runId, 'story.started', 2);
      writeFileSync(offset, '+3600s');
      await world.untilEnded(runId);
      await stopWorker(worker);
      expect([startsOf(runId, 'A'), startsOf(runId, 'B')]).toEqual([1, 1]);
      expectOrder(runId);
      await tidyUp(world);
      await checkInvariants(world, [{ runId, repository, main: 'unchanged', landed: ['A', 'B'] }]);
    });
  },
);
