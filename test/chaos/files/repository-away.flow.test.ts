import { renameSync, rmSync, symlinkSync, utimesSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { afterEach, beforeEach, expect, it, vi } from 'vitest';
import { readFolder } from '../../../src/lib/fs.ts';
import { checkInvariants } from '../../support/faults/check-invariants.ts';
import { openWorld, stopWorker, tidyUp, type World } from '../../support/faults/world.ts';
import { PATIENCE } from '../../support/patience.ts';

/** However long the repository is away: each try costs another retry. */
const PATIENT = ['retry.infrastructure.backoff="300ms"', 'retry.infrastructure.retries=100'];

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
    const runId = await world.submit(repository, [{ id: 'A' }], PATIENT);
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
    expect(faults.length).toBeGreaterThan(0);
    for (const fault of faults) expect(fault).toMatchObject({ class: 'infrastructure', stopReason: 'NOT_A_GIT_REPO' });
    expect(await readFolder(join(left, '..'))).not.toContain('tmp_pack_x1y2z3');
    await tidyUp(world);
    await checkInvariants(world, [{ runId, repository, main: 'unchanged', landed: ['A'] }]);
  },
);

it(
  'hazard 49: a repository that cannot be written for a short time costs a retry, but no session of an agent',
  { timeout: 180_000 },
  async () => {
    const repository = world.addRepository();
    const runId = await world.submit(repository, [{ id: 'A' }], PATIENT);
    // Nothing can be written there; the tests run as root, who may write to each folder.
    const folder = join(repository.root, '.git/refs/heads/halo');
    symlinkSync('halo', folder);
    const worker = world.startWorker();
    await vi.waitFor(() => expect(world.journal(runId).map(({ type }) => type)).toContain('retry.scheduled'), PATIENCE);
    rmSync(folder);
    await world.untilEnded(runId);
    await stopWorker(worker);
    const journal = world.journal(runId);
    const summary = expect.stringContaining(`halo cannot write to ${folder}`) as string;
    const faults = journal.filter(({ type }) => type === 'story.disturbed');
    expect(faults.length).toBeGreaterThan(0);
    for (const fault of faults) expect(fault).toMatchObject({ class: 'infrastructure', summary });
    expect(journal.filter((event) => event.type === 'phase.started' && event.phase === 'agent')).toHaveLength(1);
    expect(journal.at(-1)).toMatchObject({ type: 'run.ended', stopReason: 'SUCCESS' });
  },
);
