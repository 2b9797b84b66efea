import { spawnSync } from 'node:child_process';
import { randomBytes } from 'node:crypto';
import Docker from 'dockerode';
import { afterEach, describe, expect, it } from 'vitest';
import { processMark } from '../../src/lib/process-identity.ts';
import { openDockerEngine } from '../../src/sandbox/docker/engine.ts';

const docker = new Docker();
const MINE = processMark();
const DEAD = `${MINE.split('-')[0]}-${spawnSync('true').pid}-1`;
const RUN = randomBytes(6).toString('hex');

async function makeVolume(label: Record<string, string>, process: string): Promise<string> {
  const name = `halo-test-${RUN}-${process}`;
  await docker.createVolume({ Name: name, Labels: { ...label, 'dev.halo.process': process } });
  return name;
}

async function listMine(): Promise<string[]> {
  return (await openDockerEngine().listOrphans()).map(({ name }) => name).filter((name) => name.includes(RUN));
}

async function remaining(): Promise<string[]> {
  const { Volumes } = await docker.listVolumes({ filters: JSON.stringify({ name: [RUN] }) });
  return Volumes.map(({ Name }) => Name);
}

afterEach(async () => {
  await Promise.all((await remaining()).map((name) => docker.getVolume(name).remove()));
});

describe('a volume of a probe or a check', () => {
  // As an engine with quotas keeps it while it is asked for them, and as checks of commits use it.
  it.for([{ 'dev.halo.run': 'probe' }, { 'dev.halo.run': 'verifying', 'dev.halo.home': 'verify' }])(
    'is an orphan after its process has ended, and not while it is alive: %o',
    async (label) => {
      const dead = await makeVolume(label, DEAD);
      const alive = await makeVolume(label, MINE);
      const found = await listMine();
      const left = await remaining();
      expect(left).toContain(alive);
      // A worker beside this test may have found and removed it before.
      expect(found).toEqual(left.includes(dead) || found.length > 0 ? [dead] : []);
    },
  );
});

describe('a volume of an attempt', () => {
  it('is not an orphan because its process has ended: the journal decides', async () => {
    await makeVolume({ 'dev.halo.run': '0tbq1aaaaaaaaaaa', 'dev.halo.home': 'x' }, DEAD);
    expect(await listMine()).toEqual([]);
  });
});
