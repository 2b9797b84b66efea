import { describe, expect, it, vi } from 'vitest';
import { ask, keyValueService } from '../../features/services/key-value-service.ts';
import { openEngine } from '../../support/docker/engine.ts';
import { checkInvariants } from '../../support/faults/check-invariants.ts';
import { openWorld, stopWorker, tidyUp } from '../../support/faults/world.ts';
import { OK, scripted } from '../../support/halo/halo.ts';
import { PATIENCE } from '../../support/patience.ts';
import { skipFor } from '../../support/skip.ts';
import { belowLevel, FULL } from '../../support/suite/level.ts';

const AGENT = `name=$(grep -oE 'Story [A-Z]' | head -n 1 | tr -d ' '); echo x > "$name"; ${OK}`;
const SERVICE = { prepare: [`sleep 5; ${ask('set prepared')}`], prepare_files: ['README.md'], ready: 'sleep 2' };
/** The wait is longer than an engine takes to come back. */
const SETTINGS = [
  ...scripted(AGENT, [`test "$(${ask('get')})" = prepared`], keyValueService(SERVICE)),
  'retry.jitter=0',
  'retry.infrastructure.backoff="8s"',
];

describe('hazard 78: an engine that is killed', skipFor(belowLevel(FULL)), () => {
  it(
    'while the data of a service is prepared, and while a service starts, costs one retry each',
    { timeout: 900_000 },
    async ({ skip }) => {
      const engine = await openEngine();
      if ('missing' in engine) return skip(engine.missing);
      const world = openWorld({ engine: engine.socket });
      try {
        const repository = world.addRepository();
        const runId = await world.submit(repository, [{ id: 'A' }, { id: 'B' }], SETTINGS);
        const worker = world.startWorker();
        const phases = async () => (await engine.docker.listContainers()).map(({ Labels }) => Labels['dev.halo.phase']);
        const seen = (story: string, type: string) =>
          world.journal(runId).some((event) => 'story' in event && event.story === story && event.type === type);
        for (const [story, phase] of [
          ['A', 'prepare'],
          ['B', 'service-kv'],
        ] as const) {
          await vi.waitUntil(() => seen(story, 'services.awaited'), { ...PATIENCE, interval: 20 });
          await vi.waitFor(async () => expect(await phases()).toContain(phase), { ...PATIENCE, interval: 20 });
          await engine.stop('SIGKILL');
          await engine.start();
          await vi.waitUntil(() => seen(story, 'story.disturbed'), PATIENCE);
        }
        await world.untilEnded(runId);
        await stopWorker(worker);
        const disturbed = world.journal(runId).flatMap((event) => (event.type === 'story.disturbed' ? [[event.story, event.class]] : [])); // prettier-ignore
        expect(disturbed).toEqual([
          ['A', 'infrastructure'],
          ['B', 'infrastructure'],
        ]);
        await tidyUp(world);
        await checkInvariants(world, [{ runId, repository, main: 'unchanged', landed: ['A', 'B'] }]);
      } finally {
        await world.close();
        await engine.close();
      }
    },
  );
});
