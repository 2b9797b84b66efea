import { existsSync, readdirSync, rmSync } from 'node:fs';
import { basename, dirname, join } from 'node:path';
import Docker from 'dockerode';
import { expect, it, vi } from 'vitest';
import { sleep } from '../../../src/lib/async.ts';
import { probeCachePath } from '../../../src/sandbox/probe-cache.ts';
import { findLeftovers } from '../../support/faults/find-leftovers.ts';
import { IGNORES_INSTALLED, killWorker, openWorld, stopWorker } from '../../support/faults/world.ts';
import { PATIENCE } from '../../support/patience.ts';

const docker = new Docker();

it('hazard 1: the probes of a worker that is killed are removed from the engine', async () => {
  const world = openWorld();
  rmSync(probeCachePath(world.home.dir), { force: true });
  try {
    const first = world.startWorker();
    const mark = new RegExp(`^[0-9a-f]{6}-${first.process.pid}-`);
    const probes = async () => {
      const found = await docker.listContainers({ all: true, filters: { label: ['dev.halo.run=probe'] } });
      return found.filter(({ Labels }) => mark.test(Labels['dev.halo.process'] ?? '')).map(({ Id }) => Id);
    };
    const sockets = join(world.home.dir, 'sockets');
    const folders = () => (existsSync(sockets) ? readdirSync(sockets) : []).filter((name) => name.startsWith('probe-'));
    const someAre = async () => expect([(await probes()).length, folders().length]).toEqual([1, 1]);
    const untilHeld = async () => {
      await someAre();
      first.process.kill('SIGSTOP');
      // The engine may have been asked to remove it just before.
      await sleep(50);
      await someAre().catch((error: unknown) => {
        first.process.kill('SIGCONT');
        throw error;
      });
    };
    await vi.waitFor(untilHeld, { ...PATIENCE, interval: 10 });
    await killWorker(first);

    const second = world.startWorker();
    await vi.waitFor(async () => expect([await probes(), folders()]).toEqual([[], []]), PATIENCE);
    await stopWorker(second);
  } finally {
    await world.close();
  }
});

it('hazard 1: what a killed check used is removed from the engine and from its home, and so is its snapshot', async () => {
  const world = openWorld();
  try {
    const repository = world.addRepository(IGNORES_INSTALLED);
    const settings = ['setup=["sleep 600"]', 'snapshot.inputs=["README.md"]', 'network.allow=["127.0.0.1:9"]'];
    const words = settings.flatMap((setting) => ['-c', setting]);
    const first = world.home.start(['snapshot', 'build', ...words], { cwd: repository.root });
    const checks = async () => {
      const mark = new RegExp(`^[0-9a-f]{6}-${first.process.pid}-`);
      const filters = { label: ['dev.halo.home=verify'] };
      const containers = await docker.listContainers({ all: true, filters });
      const { Volumes } = await docker.listVolumes({ filters: JSON.stringify(filters) });
      return [...containers, ...Volumes].filter(({ Labels }) => mark.test(Labels['dev.halo.process'] ?? '')).length;
    };
    const isSettingUp = async () => {
      expect((await findLeftovers(world.home.dir)).map(kindOf)).toEqual(['snapshot', 'attempts', 'sockets']);
      expect(await checks()).toBeGreaterThan(0);
    };
    await vi.waitFor(isSettingUp, { ...PATIENCE, interval: 50 });
    await killWorker(first);
    await isSettingUp();

    const worker = world.startWorker();
    await vi.waitFor(async () => expect([await checks(), await findLeftovers(world.home.dir)]).toEqual([0, []]), {
      ...PATIENCE,
      interval: 500,
    });
    await stopWorker(worker);
  } finally {
    await world.close();
  }
});

/** `snapshot` for a volume, else the folder that a path is in. */
function kindOf(leftover: string): string {
  return leftover.startsWith('halo-snapshot-') ? 'snapshot' : basename(dirname(leftover));
}
