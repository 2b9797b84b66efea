import { afterAll, beforeAll, describe, expect, it, vi } from 'vitest';
import type { JournalEvent } from '../../../src/core/journal/events.ts';
import { sleep } from '../../../src/lib/async.ts';
import { openEngineProxy, type EngineProxy } from '../../support/docker/engine-proxy.ts';
import { openEngine, type TestEngine } from '../../support/docker/engine.ts';
import { OK, scripted } from '../../support/halo/halo.ts';
import type { TestRepository } from '../../support/repository/repository.ts';
import { checkInvariants } from '../../support/faults/check-invariants.ts';
import { ALL, belowLevel, FULL, LEVEL } from '../../support/suite/level.ts';
import { openWorld, stopWorker, tidyUp, type World } from '../../support/faults/world.ts';
import { skipFor } from '../../support/skip.ts';
import { PATIENCE } from '../../support/patience.ts';

const AGENT = `name=$(grep -oE 'Story [A-Z]' | head -n 1 | tr -d ' '); sleep 3; echo x > "$name"; ${OK}`;
/** The wait is longer than an engine takes to come back. */
const SETTINGS = [
  ...scripted(AGENT, ['sleep 3']),
  'setup=["sleep 1"]',
  'retry.jitter=0',
  'retry.infrastructure.backoff="8s"',
];

/** Where the engine is killed, story by story. */
const PLACES: Record<string, (event: JournalEvent) => boolean> = {
  A: (event) => event.type === 'phase.started' && event.phase === 'prepare',
  B: (event) => event.type === 'phase.started' && event.phase === 'setup',
  C: (event) => event.type === 'phase.started' && event.phase === 'agent',
  D: (event) => event.type === 'gate.started',
};
const STORIES = LEVEL < ALL ? ['C'] : Object.keys(PLACES);

interface Restart {
  name: string;
  liveRestore?: boolean;
  signal: 'SIGKILL' | 'SIGTERM';
  /** Requests wait while the engine is unavailable. */
  kept?: boolean;
}
const RESTARTS: Restart[] = [
  { name: 'killed, and its containers with it', signal: 'SIGKILL' },
  { name: 'killed, while its containers live on', signal: 'SIGKILL', liveRestore: true },
  ...(LEVEL < ALL ? [] : [{ name: 'stopped in good order', signal: 'SIGTERM' as const }]),
  { name: 'restarted by systemd, which keeps its socket open', signal: 'SIGTERM', kept: true },
];

describe.each(RESTARTS)(
  'hazard 11: an engine that is $name',
  skipFor(belowLevel(FULL)),
  ({ liveRestore, signal, kept }) => {
    let engine: TestEngine | undefined;
    let missing = '';
    let proxy: EngineProxy | undefined;
    let world: World;
    let repository: TestRepository;

    beforeAll(async () => {
      const opened = await openEngine({ liveRestore });
      if ('missing' in opened) ({ missing } = opened);
      else engine = opened;
      if (engine !== undefined && kept === true) proxy = await openEngineProxy(engine.socket);
      world = openWorld({ engine: proxy?.socket ?? engine?.socket });
      repository = world.addRepository();
    });
    afterAll(async () => {
      await world.close();
      await proxy?.close();
      await engine?.close();
    });

    it('costs one retry in each phase, and no attempt', async ({ skip }) => {
      if (engine === undefined) return skip(missing);
      const runId = await world.submit(
        repository,
        STORIES.map((id) => ({ id })),
        SETTINGS,
      );
      const worker = world.startWorker();
      const seen = (story: string, wanted: (event: JournalEvent) => boolean) =>
        world.journal(runId).some((event) => 'story' in event && event.story === story && wanted(event));
      for (const story of STORIES) {
        await vi.waitUntil(() => seen(story, PLACES[story]!), { ...PATIENCE, interval: 20 });
        await engine.stop(signal);
        await engine.start();
        await vi.waitUntil(() => seen(story, ({ type }) => type === 'story.disturbed'), PATIENCE);
      }
      await world.untilEnded(runId);
      await stopWorker(worker);
      const reported = world.journal(runId);
      expect(
        reported.flatMap((event) => (event.type === 'story.disturbed' ? [[event.story, event.class]] : [])),
      ).toEqual(STORIES.map((story) => [story, 'infrastructure']));
      expect(reported.flatMap((event) => (event.type === 'story.ended' ? [[event.story, event.attempt]] : []))).toEqual(
        STORIES.map((story) => [story, 1]),
      );
      if (liveRestore === true) {
        // Engines before 24.0.3 miscount the mounts of volumes of containers that lived on: moby/moby#44422.
        await engine.stop('SIGTERM');
        await engine.start();
      }
      await tidyUp(world);
      await checkInvariants(world, [{ runId, repository, main: 'unchanged', landed: STORIES }]);
    });
  },
);

describe('hazard 48: an engine that is killed twice within ten seconds', skipFor(belowLevel(FULL)), () => {
  it('costs retries; no worker counts as dead, and all stories land', async ({ skip }) => {
    const engine = await openEngine();
    if ('missing' in engine) return skip(engine.missing);
    const world = openWorld({ engine: engine.socket });
    try {
      const repositories = [world.addRepository(), world.addRepository()];
      const stories = ['A', 'B'].map((id) => ({ id }));
      const settings = scripted(AGENT, ['sleep 1']);
      const runs = await Promise.all(repositories.map((each) => world.submit(each, stories, settings)));
      const worker = world.startWorker({}, { concurrency: 2 });
      const atWork = (runId: string) => world.journal(runId).some((event) => PLACES.C!(event));
      await vi.waitUntil(() => runs.every(atWork), { ...PATIENCE, interval: 20 });
      for (let times = 0; times < 2; times += 1) {
        await engine.stop('SIGKILL');
        await engine.start();
        await sleep(3_000);
      }
      for (const runId of runs) await world.untilEnded(runId);
      await stopWorker(worker);
      for (const runId of runs) {
        const reported = world.journal(runId);
        const faults = reported.flatMap((event) => (event.type === 'story.disturbed' ? [event.class] : []));
        expect(faults.length).toBeGreaterThan(0);
        expect(new Set(faults)).toEqual(new Set(['infrastructure']));
        // Each start is followed by the word of what became of it.
        const ended = reported.filter(({ type }) => type === 'story.disturbed' || type === 'story.ended');
        expect(reported.filter(({ type }) => type === 'story.started').length).toBeLessThanOrEqual(ended.length);
      }
      await tidyUp(world);
      await checkInvariants(
        world,
        runs.map((runId, index) => ({
          ...{ runId, repository: repositories[index]!, main: 'unchanged' as const },
          landed: ['A', 'B'],
        })),
      );
    } finally {
      await world.close();
      await engine.close();
    }
  });
});
