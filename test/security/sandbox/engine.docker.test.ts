import Docker from 'dockerode';
import { describe, expect } from 'vitest';
import { it } from '../../support/fixtures.ts';
import { OK, scripted } from '../../support/halo/halo.ts';

/** The worker has full access to the engine; these settings try to misuse it. */

const docker = new Docker();

describe('attack 39: settings that would widen a container', () => {
  it.for([
    'sandbox.privileged=true',
    'sandbox.mounts=["/:/host"]',
    'sandbox.binds=["/var/run/docker.sock:/s"]',
    'sandbox.network="host"',
    'sandbox.pid="host"',
    'sandbox.devices=["/dev/kvm"]',
    'sandbox.cap_add=["SYS_ADMIN"]',
    'sandbox.security_opt=["seccomp=unconfined"]',
    'image="evil --privileged"',
    'image="halo-sandbox -v /:/host"',
    'limits.pids=-1',
    'limits.memory="0"',
  ])('%s is refused before anything runs', async (setting, { halo, repository }) => {
    const run = halo.run(repository.root, [{ id: 'A' }], [...scripted(OK), setting]);
    await expect(run).rejects.toMatchObject({ code: 'CONFIG_INVALID' });
  });

  it('the containers have neither the engine’s socket nor folders, devices or namespaces of the host', async ({
    halo,
    repository,
  }) => {
    const story = scripted(`sleep 1; echo x > x; ${OK}`, ['sleep 1']);
    const settings = [...story, 'env.DOCKER_HOST="unix:///run/docker.sock"'];
    const runId = await halo.submit(repository.root, [{ id: 'A' }], settings);
    const running = halo.untilEnd(runId);
    const filters = { label: [`dev.halo.run=${runId}`] };
    const seen = new Map<string, Docker.ContainerInspectInfo>();
    let ended = false;
    void running.finally(() => (ended = true));
    while (!ended) {
      const list = await docker.listContainers({ all: true, filters });
      for (const { Id } of list.filter(({ Id }) => !seen.has(Id))) {
        const facts = await docker
          .getContainer(Id)
          .inspect()
          .catch(() => undefined);
        if (facts !== undefined) seen.set(Id, facts);
      }
    }
    expect(await running).toMatchObject({ stopReason: 'SUCCESS' });
    expect(seen.size).toBeGreaterThanOrEqual(3);
    for (const { HostConfig: host, Mounts: mounts } of seen.values()) {
      expect(host).toMatchObject({ Privileged: false, NetworkMode: 'none', CapDrop: ['ALL'], ReadonlyRootfs: true });
      expect([host.PidMode, host.UTSMode, host.UsernsMode]).toEqual(['', '', '']);
      for (const none of [host.Binds, host.CapAdd, host.Devices, host.VolumesFrom]) expect(none ?? []).toEqual([]);
      expect(host.GroupAdd, 'the group of snapshots').toEqual(['19999']);
      for (const mount of mounts) {
        expect(mount.Source).not.toMatch(/docker\.sock|^\/(proc|sys|dev|etc|root|home|var\/run|run)?$/);
        if (mount.Type === 'bind') expect(mount.RW).toBe(false);
      }
    }
  });
});
