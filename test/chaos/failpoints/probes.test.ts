import { existsSync, readdirSync, rmSync } from 'node:fs';
import { join } from 'node:path';
import Docker from 'dockerode';
import { expect, it, vi } from 'vitest';
import { probeCachePath } from '../../../src/sandbox/probe-cache.ts';
import { killWorker, openWorld, stopWorker } from '../../support/faults/world.ts';
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
    await vi.waitFor(someAre, { ...PATIENCE, interval: 10 });
    await killWorker(first);
    await someAre();

    const second = world.startWorker();
    await vi.waitFor(async () => expect([await probes(), folders()]).toEqual([[], []]), PATIENCE);
    await stopWorker(second);
  } finally {
    await world.close();
  }
});
