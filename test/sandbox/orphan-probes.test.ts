import { spawnSync } from 'node:child_process';
import { randomBytes } from 'node:crypto';
import Docker from 'dockerode';
import { afterAll, describe, expect, it } from 'vitest';
import { processMark } from '../../src/lib/process-identity.ts';
import { openDockerEngine } from '../../src/sandbox/docker/engine.ts';

const docker = new Docker();
const MINE = processMark();
const DEAD = `${MINE.split('-')[0]}-${spawnSync('true').pid}-1`;
const RUN = randomBytes(6).toString('hex');

/** As an engine with quotas keeps it while it is asked for them. */
async function probeVolume(process: string): Promise<string> {
  const name = `halo-probe-${RUN}-${process}`;
  await docker.createVolume({ Name: name, Labels: { 'dev.halo.run': 'probe', 'dev.halo.process': process } });
  return name;
}

afterAll(async () => {
  const { Volumes } = await docker.listVolumes({ filters: JSON.stringify({ name: [RUN] }) });
  await Promise.all(Volumes.map(({ Name }) => docker.getVolume(Name).remove()));
});

describe('a volume of a probe', () => {
  it('is removed after its process has ended, and kept while it is alive', async () => {
    await probeVolume(DEAD);
    const living = await probeVolume(MINE);
    await openDockerEngine().removeOrphanProbes();
    const { Volumes } = await docker.listVolumes({ filters: JSON.stringify({ name: [RUN] }) });
    expect(Volumes.map(({ Name }) => Name)).toEqual([living]);
  });
});
