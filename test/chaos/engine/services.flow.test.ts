import Docker from 'dockerode';
import { describe, expect, vi, type TestContext } from 'vitest';
import type { Failpoint } from '../../../src/core/failure/failpoint-names.ts';
import { FULL, LEVEL } from '../../support/suite/level.ts';
import { findLeftovers } from '../../support/faults/find-leftovers.ts';
import { test } from '../../support/fixtures.ts';
import { OK, scripted } from '../../support/halo/halo.ts';
import { PATIENCE } from '../../support/patience.ts';
import { ask, keyValueService } from '../../features/services/key-value-service.ts';
import { surviveKills } from '../failpoints/survive-kill.ts';

/** The containers and volumes of a run. */
async function leftOf(runId: string): Promise<string[]> {
  const filters = { label: [`dev.halo.run=${runId}`] };
  const docker = new Docker();
  const [containers, { Volumes }] = await Promise.all([
    docker.listContainers({ all: true, filters }),
    docker.listVolumes({ filters: JSON.stringify(filters) }),
  ]);
  return [...containers.flatMap(({ Names }) => Names), ...Volumes.map(({ Name }) => Name)];
}

describe('hazard 75: a service that fills its data folder', () => {
  test('ends its command, and the failure says so', async ({ halo, repository }) => {
    const filling = "open('/workspace/big', 'wb').write(bytes(1 << 20) * 64); import time; time.sleep(3600)";
    const { stories, runId } = await halo.run(
      repository.root,
      [{ id: 'A' }],
      scripted(
        `date +%N > now.txt; ${OK}`,
        ['sleep 3600'],
        [
          ...keyValueService({ command: ['python3', '-c', filling], ready: 'true', for: ['gates'] }),
          'limits.disk="16m"',
        ],
      ),
    );
    expect(stories).toMatchObject([
      {
        summary: 'the data of the service kv is larger than 16m (limits.disk)',
        lastFailure: { class: 'environment', cause: 'service-failed' },
      },
    ]);
    await expect.poll(() => leftOf(runId), PATIENCE).toEqual([]);
  });
});

describe('hazard 76: a run is cancelled while its service starts', () => {
  test('leaves neither containers nor volumes', async ({ halo, repository }) => {
    const runId = await halo.submit(
      repository.root,
      [{ id: 'A' }],
      scripted(OK, ['true'], keyValueService({ ready: 'sleep 3600' })),
    );
    await vi.waitFor(async () => {
      const { state } = await halo.operations.getRun({ runId });
      expect(state.stories).toMatchObject([{ phase: 'agent', awaits: ['kv'] }]);
    }, PATIENCE);
    await halo.operations.cancel({ runId });
    expect(await halo.untilEnd(runId)).toMatchObject({ stopReason: 'USER_ABORT' });
    await expect.poll(() => leftOf(runId), PATIENCE).toEqual([]);
  });
});

describe('hazard 78: the data of a service is prepared', () => {
  test('a run that is cancelled then ends, and leaves neither containers nor volumes', async ({ halo, repository }) => {
    const prepare = ['echo prepares; sleep 3600'];
    const runId = await halo.submit(
      repository.root,
      [{ id: 'A' }],
      scripted(OK, ['true'], keyValueService({ prepare })),
    );
    await vi.waitFor(async () => expect(await phasesOf(runId)).toContain('prepare'), PATIENCE);
    await halo.operations.cancel({ runId });
    expect(await halo.untilEnd(runId)).toMatchObject({ stopReason: 'USER_ABORT' });
    await expect.poll(() => findLeftovers(halo.home), PATIENCE).toEqual([]);
  });

  test.runIf(LEVEL >= FULL)(
    'workers that are killed make it again, and the last one has it',
    async ({ task }) => {
      const prepared = keyValueService({ prepare: [ask('set prepared')], prepare_files: ['README.md'] });
      const gate = `gates=[${JSON.stringify(`test "$(${ask('get')})" = prepared`)}]`;
      const points: Failpoint[] = ['snapshot.setup', 'snapshot.seal', 'snapshot.before', 'snapshot.after'];
      const events = await surviveKills(points, { task } as TestContext, { settings: [...prepared, gate] });
      // The worker that was killed after it had published the data did not report that; later ones found it.
      const ready = events.flatMap((event) => (event.type === 'services.ready' ? event.services : []));
      expect(ready.length).toBeGreaterThan(0);
      expect(ready.filter(({ preparedMs }) => preparedMs !== undefined)).toEqual([]);
    },
    1_200_000,
  );
});

/** The phases of the containers of a run. */
async function phasesOf(runId: string): Promise<string[]> {
  const found = await new Docker().listContainers({ filters: { label: [`dev.halo.run=${runId}`] } });
  return found.flatMap(({ Labels }) => Labels['dev.halo.phase'] ?? []);
}
