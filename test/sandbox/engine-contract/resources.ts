import Docker from 'dockerode';
import { describe, expect } from 'vitest';
import { newName, runIn, SPEC, test, USER, workspaceOf } from './engine-fixture.ts';
import { VERSION_DIR } from '../../../src/core/agent-program.ts';
import { buildAgentVersion } from '../../support/agents/build-agent-version.ts';
import { startProcess } from './engine-process.ts';

const COUNT = 'n=0; while :; do n=$((n + 1)); echo $n; echo $n > count.new; mv count.new count; sleep 0.02; done';
const OBSERVE = 'before=$(cat count); sleep 0.3; [ "$(cat count)" -gt "$before" ] && echo grows';

export function describeResources(): void {
  describe.concurrent('the resources of an attempt', () => {
    test('outlast the process that created them, and are found by their labels and removed', async ({
      engine,
      run,
      volume,
    }) => {
      const home = newName();
      const labels = { ...SPEC.labels, owner: { home, epoch: 7 }, run: 'of-home' };
      const user = USER + 10;
      const kept = await volume();
      const counting = { ...SPEC, ...workspaceOf(kept), user };
      const probeUser = USER + 11;
      const [attempt, probe] = [
        { ...counting, labels, limits: { ...SPEC.limits, ptys: 4 } },
        { ...SPEC, labels: { ...SPEC.labels, run: 'probe' }, user: probeUser },
      ];
      const other = await startProcess([
        { spec: attempt, script: COUNT },
        { spec: probe, script: 'echo; sleep 600' },
      ]);
      const [attemptId = '', probeId = ''] = other.ids;
      const orphans = async () => (await engine.listOrphans()).map(({ name }) => name);
      try {
        expect(await orphans()).not.toContain(probeId);
        await other.kill();
        const observed = await run(OBSERVE, { ...workspaceOf(kept, true), user });
        expect(observed.stdout).toBe('grows\n');
        const found = await orphans();
        const users = await engine.usersInUse();
        expect(users).toContain(user);
        // A worker beside this test may have found and removed it before.
        if (users.has(probeUser)) expect(found).toContain(probeId);
        expect(found).not.toContain(attemptId);
        const common = { run: 'of-home', storyKey: 'engine', epoch: 7, phase: 'test' };
        const [container, terminals, ...others] = await engine.listResources(home);
        expect(container).toEqual({ kind: 'container', name: attemptId, ...common });
        expect(terminals).toMatchObject({ kind: 'volume', ...common });
        expect(others).toEqual([]);
      } finally {
        await other.kill();
        for (const name of [attemptId, probeId, attemptId]) await engine.removeResource({ kind: 'container', name });
      }
      expect(await engine.listResources(home)).toEqual([]);
      expect(await engine.usersInUse()).not.toContain(user);
      expect(await orphans()).not.toContain(probeId);
    });

    test('do not include versions of agents, which stay while a sandbox uses them', async ({ engine, start }) => {
      const version = `9.9.${process.pid}`;
      const image = new Docker().getImage(await buildAgentVersion(version, '#!/bin/sh\necho started\n'));
      const [repo, id] = [`halo-test-version-${process.pid}`, (await image.inspect()).Id];
      await image.tag({ repo });
      const installed = async () => (await engine.agentVersions()).filter((each) => each.version === version);
      const mounts = [{ kind: 'agent' as const, agent: 'codex' as const, version, target: VERSION_DIR }];
      const useAndRemove = async () => {
        const sandbox = await start({ mounts });
        expect(await engine.removeAgentVersion('codex', version)).toBe(false);
        expect(await installed()).toEqual([{ id: 'codex', version, bytes: expect.any(Number) as number }]);
        const { stdout } = await runIn(sandbox, `${VERSION_DIR}/bin/codex`);
        expect(stdout).toBe('started\n');
        await sandbox.remove();
        expect(await engine.removeAgentVersion('codex', version)).toBe(true);
        expect(await installed()).toEqual([]);
      };
      try {
        await useAndRemove();
        // The same image again, whose files this engine has seen before.
        await new Docker().getImage(id).tag({ repo: 'halo-agent-codex', tag: version });
        await useAndRemove();
      } finally {
        // It is gone.
        expect(await engine.removeAgentVersion('codex', version)).toBe(true);
        await new Docker().getImage(repo).remove();
      }
    });

    test('have the time at which they expire, and are removed one by one', async ({ engine, volumes }) => {
      const [home, name] = [newName(), newName()];
      const expiresAt = '2030-01-02T03:04:05.678Z';
      const labels = { ...SPEC.labels, owner: { home, epoch: 3 } };
      await engine.createVolume(name, labels, { user: USER, expiresAt });
      volumes.push(name);
      const common = { run: 'test', storyKey: 'engine', epoch: 3, phase: 'test' };
      expect(await engine.listResources(home)).toEqual([{ kind: 'volume', name, ...common, expiresAt }]);
      await engine.removeResource({ kind: 'volume', name });
      expect(await engine.listResources(home)).toEqual([]);
    });

    test('belong to users, whose ids are in use until the sandbox is removed', async ({ engine, start }) => {
      const user = USER + 20;
      const sandbox = await start({ user });
      expect(await engine.usersInUse()).toContain(user);
      await runIn(sandbox, 'true');
      expect(await engine.usersInUse()).toContain(user);
      await sandbox.remove();
      expect(await engine.usersInUse()).not.toContain(user);
    });

    test('are removed while their sandbox starts, and it does not remain', async ({ engine }) => {
      const home = newName();
      const labels = { ...SPEC.labels, owner: { home, epoch: 1 } };
      let over = false;
      const starting = engine
        .start({ ...SPEC, labels })
        .then(
          (sandbox) => sandbox.remove(),
          () => {},
        ) // prettier-ignore
        .finally(() => (over = true));
      while (!over) for (const found of await engine.listResources(home)) await engine.removeResource(found);
      await starting;
      expect(await engine.listResources(home)).toEqual([]);
    });
  });
}
