import { describe, expect, it, vi } from 'vitest';
import { mapConcurrent } from '../../../src/lib/async.ts';
import { openLocal } from '../../../src/api/local.ts';
import { OPERATIONS } from '../../../src/api/operations.ts';
import { hostOf } from '../../support/halo/host.ts';
import { memoryOf } from '../../support/faults/memory-of.ts';
import { ALL, LEVEL } from '../../support/suite/level.ts';
import { openWorld, stopWorker } from '../../support/faults/world.ts';

/** Each submit checks its repository, which takes most of the time. */
const RUNS = LEVEL < ALL ? 100 : 1_000;
const MAX_MIB = 400;

describe(`hazard 65: ${RUNS} queued runs`, () => {
  it('are listed and followed in one piece; a worker takes them one after the other, with little memory', async () => {
    const world = openWorld();
    try {
      const repositories = Array.from({ length: 10 }, () => world.addRepository());
      const numbers = Array.from({ length: RUNS }, (_, number) => number);
      const submit = (number: number) => world.submit(repositories[number % repositories.length]!, [{ id: 'A' }]);
      const runIds = await mapConcurrent(numbers, 8, submit);
      expect(new Set(runIds).size).toBe(RUNS);
      const isOfRuns = (list: readonly { runId: string }[]) => new Set(list.map(({ runId }) => runId)).size;
      expect(isOfRuns((await world.operations.listRuns()).runs)).toBe(RUNS);
      const server = openLocal({ host: hostOf(world.home.dir) });
      const frames = await server.callRemotely()(OPERATIONS.followRuns, { ended: 0, follow: false });
      for await (const { runs } of frames) expect(isOfRuns(runs)).toBe(RUNS);
      await server.close();
      const worker = world.startWorker({}, { concurrency: 2 });
      const ended = () => runIds.filter((runId) => world.journal(runId).some(({ type }) => type === 'run.ended'));
      await vi.waitUntil(() => ended().length >= 10, { timeout: 250_000, interval: 1_000 });
      expect(memoryOf(worker.process.pid!)).toBeLessThan(MAX_MIB);
      await stopWorker(worker);
      for (const runId of ended()) {
        const passed = world
          .journal(runId)
          .filter((event) => event.type === 'story.ended' && event.verdict === 'passed');
        expect(passed).toHaveLength(1);
      }
      const open = (await world.operations.listRuns()).runs.filter(({ status }) => status !== 'ended');
      expect(open.length).toBe(RUNS - ended().length);
    } finally {
      await world.close();
    }
  }, 1_200_000);
});
