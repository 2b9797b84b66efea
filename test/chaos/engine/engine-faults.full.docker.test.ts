import { readdirSync, symlinkSync } from 'node:fs';
import { join } from 'node:path';
import { afterEach, beforeEach, describe, expect, it, vi } from 'vitest';
import type { JournalEvent } from '../../../src/core/journal/events.ts';
import { openEngineProxy, type EngineProxy, type Misdeed } from '../../support/docker/engine-proxy.ts';
import type { TestRepository } from '../../support/repository/repository.ts';
import { checkInvariants } from '../../support/faults/check-invariants.ts';
import { ALL, belowLevel, FULL, LEVEL } from '../../support/suite/level.ts';
import { openWorld, stopWorker, tidyUp, type World } from '../../support/faults/world.ts';
import { skipFor } from '../../support/skip.ts';
import { tempDir } from '../../support/temp-dir.ts';
import { PATIENCE } from '../../support/patience.ts';

const ENGINE = '/var/run/docker.sock';
const PATIENT = ['retry.infrastructure.retries=50', 'retry.infrastructure.backoff="200ms"', 'retry.max_backoff="1s"'];

let world: World;
let dir: string;
beforeEach(() => {
  dir = tempDir('halo-way');
});
afterEach(async () => {
  await world.close();
});

const ofType = <T extends JournalEvent['type']>(runId: string, type: T) =>
  world.journal(runId).filter((event): event is Extract<JournalEvent, { type: T }> => event.type === type);

/** Only faults of the engine came about, and none of them cost an attempt. */
function expectPatience(runId: string): void {
  for (const { class: whose } of ofType(runId, 'story.disturbed')) expect(whose).toBe('infrastructure');
  for (const { attempt } of ofType(runId, 'story.ended')) expect(attempt).toBe(1);
}

describe(
  'hazard 12: the engine answers slowly, with errors, partially or not at all',
  skipFor(belowLevel(FULL)),
  () => {
    let proxy: EngineProxy;
    let repository: TestRepository;
    beforeEach(async () => {
      proxy = await openEngineProxy(ENGINE);
      world = openWorld();
      repository = world.addRepository();
    });
    afterEach(() => proxy.close());

    const start = () => world.startWorker({ DOCKER_HOST: proxy.host, DOCKER_CLIENT_TIMEOUT: '3000' });

    it('all stories land, and the worker holds no more files open than before', async () => {
      const worker = start();
      const openFiles = () => readdirSync(`/proc/${worker.process.pid}/fd`).length;
      const quiet = await world.submit(repository, [{ id: 'Q' }]);
      await world.untilEnded(quiet);
      const before = openFiles();
      const misdeeds: Misdeed[] = [
        ...[{ status: 500 }, { status: 503 }, 'swallow' as const, { delayMs: 1_000 }],
        ...[
          { cutAfter: 1, by: 'reset' as const },
          { cutAfter: 20, by: 'end' as const },
        ],
      ];
      const planned = [...misdeeds, ...misdeeds, ...misdeeds];
      let calls = 0;
      proxy.misbehave(() => ((calls += 1) % 4 === 0 ? planned.shift() : undefined));
      const second = world.addRepository();
      const runId = await world.submit(
        second,
        ['A', 'B', 'C'].map((id) => ({ id })),
        PATIENT,
      );
      await world.untilEnded(runId, 240_000);
      expect(ofType(runId, 'run.ended')).toMatchObject([{ stopReason: 'SUCCESS' }]);
      expect(planned).toEqual([]);
      expect(ofType(runId, 'story.disturbed').length).toBeGreaterThan(0);
      expectPatience(runId);
      await vi.waitFor(() => expect(openFiles()).toBeLessThanOrEqual(before + 2), PATIENCE);
      await stopWorker(worker);
      await tidyUp(world);
      await checkInvariants(world, [
        { runId: quiet, repository, main: 'unchanged', landed: ['Q'] },
        { runId, repository: second, main: 'unchanged', landed: ['A', 'B', 'C'] },
      ]);
    });

    it(
      'an engine that never recovers is not polled forever, and the worker survives',
      { timeout: 300_000 },
      async () => {
        const worker = start();
        proxy.misbehave((call) => (call.includes('/containers/create') ? { status: 503 } : undefined));
        const settings = ['retry.infrastructure.retries=2', 'retry.infrastructure.backoff="200ms"'];
        const runId = await world.submit(repository, [{ id: 'A' }], settings);
        await world.untilEnded(runId);
        expect(ofType(runId, 'story.disturbed')).toHaveLength(3);
        proxy.misbehave(() => undefined);
        const second = world.addRepository();
        const next = await world.submit(second, [{ id: 'B' }]);
        await world.untilEnded(next);
        expect(ofType(next, 'run.ended')).toMatchObject([{ stopReason: 'SUCCESS' }]);
        await stopWorker(worker);
        await tidyUp(world);
        await checkInvariants(world, [
          { runId, repository, main: 'unchanged', landed: [], stopReason: 'INFRASTRUCTURE' },
          { runId: next, repository: second, main: 'unchanged', landed: ['B'] },
        ]);
      },
    );
  },
);

describe('hazard 11: the engine is unavailable while stories wait', skipFor(belowLevel(FULL)), () => {
  /** With the settings that halo comes with, in all its length. */
  const [awayMs, settings] = LEVEL < ALL ? [5_000, PATIENT] : [60_000, []];

  it(
    'its worker takes none until the engine is available, and then they land without a retry',
    { timeout: 400_000 },
    async () => {
      const socket = join(dir, 'docker.sock');
      world = openWorld({ engine: socket });
      const repositories = [world.addRepository(), world.addRepository()];
      const worker = world.startWorker({}, { concurrency: 2 });
      const runs = await Promise.all(repositories.map((each) => world.submit(each, [{ id: 'A' }], settings)));
      await worker.says('the engine does not answer, or lacks an image: it gets no stories for now');
      await new Promise((resolve) => setTimeout(resolve, awayMs));
      symlinkSync(ENGINE, socket);
      for (const runId of runs) await world.untilEnded(runId, 300_000);
      for (const runId of runs) {
        expect(ofType(runId, 'story.disturbed')).toEqual([]);
        expect(ofType(runId, 'story.started')).toHaveLength(1);
      }
      await stopWorker(worker);
      await tidyUp(world);
      await checkInvariants(
        world,
        runs.map((runId, index) => ({ runId, repository: repositories[index]!, main: 'unchanged', landed: ['A'] })),
      );
    },
  );
});
