import { writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { afterEach, beforeEach, expect, it } from 'vitest';
import { prdOf } from '../../support/halo/halo.ts';
import { openWorld, SETTINGS, stopWorker, type World, CANARY } from '../../support/faults/world.ts';

let world: World;
beforeEach(() => {
  world = openWorld();
});
afterEach(() => world.close());

it('hazard 56: a worker and `halo run` finish although their log and their output are on a full disk', async () => {
  const repository = world.addRepository();
  const runId = await world.submit(repository, [{ id: 'A' }]);
  const worker = world.startWorker({}, { via: ['sh', '-c', 'exec "$@" 2>/dev/full', 'sh'] });
  await world.untilEnded(runId);
  await stopWorker(worker);
  expect((await worker.ended).code).toBe(0);
  const prd = join(world.tmp, 'prd.json');
  writeFileSync(prd, prdOf([{ id: 'B' }]).bytes);
  const how = { cwd: repository.root, env: { CHAOS_CANARY: CANARY }, via: ['sh', '-c', 'exec "$@" >/dev/full', 'sh'] };
  const ran = await world.home.halo(['run', prd, ...SETTINGS.flatMap((each) => ['-c', each])], how);
  expect(ran).toMatchObject({ code: 0, stderr: expect.stringContaining('no space left on device') as string });
  expect(await world.home.halo(['ls'], how)).toMatchObject({ code: 1, stderr: expect.stringMatching(/^error\[DISK_FAILED\]: .*\n$/) as string }); // prettier-ignore
});
