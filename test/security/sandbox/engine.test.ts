import Docker from 'dockerode';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { openHalo, OK, scripted, type TestHalo } from '../../support/halo/halo.ts';
import type { TestRepository } from '../../support/repository/repository.ts';
import { newRepository } from '../../support/repository/new-repository.ts';

/** The worker may ask the engine for anything; these settings try to make it ask for too much. */

const docker = new Docker();
let halo: TestHalo;
let repository: TestRepository;
beforeAll(async () => {
  halo = await openHalo();
  repository = newRepository({ 'halo.toml': 'image = "halo-sandbox"\n' });
});
afterAll(async () => {
  await halo.close();
});

describe('attack 39: settings that would widen a container', () => {
  it.each([
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
  ])('%s is refused before anything runs', async (setting) => {
    const run = halo.run(repository.root, [{ id: 'A' }], [...scripted(OK), setting]);
    await expect(run).rejects.toMatchObject({ code: 'CONFIG_INVALID' });
  });

  it('what the engine was asked for holds neither its socket, nor the host’s folders, devices or namespaces', async () => {
    const story = scripted(`sleep 3; echo x > x; ${OK}`, ['sleep 2']);
    const running = halo.run(repository.root, [{ id: 'A' }], [...story, 'env.DOCKER_HOST="unix:///run/docker.sock"']);
    const seen = new Map<string, Docker.ContainerInspectInfo>();
    let ended = false;
    void running.finally(() => (ended = true));
    while (!ended) {
      const list = await docker.listContainers({ all: true, filters: { label: ['dev.halo.run'] } });
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
      for (const none of [host.Binds, host.CapAdd, host.Devices, host.GroupAdd, host.VolumesFrom])
        expect(none ?? []).toEqual([]);
      for (const mount of mounts) {
        expect(mount.Source).not.toMatch(/docker\.sock|^\/(proc|sys|dev|etc|root|home|var\/run|run)?$/);
        if (mount.Type === 'bind') expect(mount.RW).toBe(false);
      }
    }
  });
});
