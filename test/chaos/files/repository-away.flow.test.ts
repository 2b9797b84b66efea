import { renameSync, utimesSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { afterEach, beforeEach, expect, it, vi } from 'vitest';
import { readFolder } from '../../../src/lib/fs.ts';
import { checkInvariants } from '../../support/faults/check-invariants.ts';
import { openWorld, stopWorker, tidyUp, type World } from '../../support/faults/world.ts';
import { PATIENCE } from '../../support/patience.ts';

let world: World;
beforeEach(() => {
  world = openWorld();
});
afterEach(() => world.close());

it(
  'hazard 49: a repository that is unavailable for a short time costs a retry, but no run; leftovers of git are removed',
  { timeout: 180_000 },
  async () => {
    const repository = world.addRepository();
    const runId = await world.submit(repository, [{ id: 'A' }], ['retry.infrastructure.backoff="3s"']);
    const [mirror = ''] = await readFolder(join(world.home.dir, 'repos'));
    const left = join(world.home.dir, 'repos', mirror, 'mirror.git/objects/pack/tmp_pack_x1y2z3');
    writeFileSync(left, 'PACK');
    utimesSync(left, 1, 1);
    const aside = `${repository.root}.away`;
    renameSync(repository.root, aside);
    const worker = world.startWorker();
    await vi.waitFor(() => expect(world.journal(runId).map(({ type }) => type)).toContain('retry.scheduled'), PATIENCE);
    renameSync(aside, repository.root);
    await world.untilEnded(runId);
    await stopWorker(worker);
    const faults = world.journal(runId).filter((event) => event.type === 'story.disturbed');
    expect(faults).toMatchObject([{ class: 'infrastructure', stopReason: 'NOT_A_GIT_REPO' }]);
    expect(await readFolder(join(left, '..'))).not.toContain('tmp_pack_x1y2z3');
    await tidyUp(world);
    await checkInvariants(world, [{ runId, repository, main: 'unchanged', landed: ['A'] }]);
  },
);
