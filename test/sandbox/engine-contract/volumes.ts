import { statfs } from 'node:fs/promises';
import { describe, expect, vi } from 'vitest';
import { SNAPSHOT_GROUP } from '../../../src/sandbox/sandbox.ts';
import { PATIENCE } from '../../support/patience.ts';
import { newName, runIn, SPEC, test, USER, workspaceOf } from './engine-fixture.ts';

const OTHER = USER + 1;

export function describeVolumes(): void {
  describe.concurrent('a volume', () => {
    test('contains files of the user that wrote them, which others cannot read against their rights', async ({
      run,
      volume,
    }) => {
      const workspace = workspaceOf(await volume());
      await run('echo work > file; echo secret > secret; chmod 600 secret', workspace);
      const { stdout, stderr } = await run('stat -c "%a %u:%g %n" . file secret; cat file; cat secret; touch other && rm file', { ...workspace, user: OTHER }); // prettier-ignore
      expect(stdout).toBe(`1777 0:0 .\n644 ${USER}:${USER} file\n600 ${USER}:${USER} secret\nwork\n`);
      expect(stderr).toMatch(/^cat: secret: Permission denied\nrm: .*not permitted\n$/);
    });

    test('is shared with sandboxes that can only read it, while it changes', async ({ start, volume }) => {
      const name = await volume();
      const [writer, reader] = await Promise.all([start(workspaceOf(name)), start(workspaceOf(name, true))]);
      await runIn(writer, 'echo work > file');
      const { stdout } = await runIn(reader, 'cat file; touch x 2>/dev/null || echo refused');
      expect(stdout).toBe('work\nrefused\n');
    });

    test('receives the files of the image at its place when it is first used, if it is to', async ({ run, volume }) => {
      const [copied, bare] = [await volume(), await volume()];
      const mount = { kind: 'volume', target: '/etc/skel', readOnly: true } as const;
      const list = 'ls -A /etc/skel; stat -c "%a %u" /etc/skel';
      const first = await run(list, { mounts: [{ ...mount, source: copied, copyUp: true }] });
      expect(first.stdout).toBe('.bash_logout\n.bashrc\n.profile\n755 0\n');
      const second = await run(list, { mounts: [{ ...mount, source: bare, copyUp: false }] });
      expect(second.stdout).toBe('755 0\n');
      expect(await run('ls -A', workspaceOf(copied))).toMatchObject({ stdout: first.stdout.replace(/^\d.*\n/m, '') });
    });

    test('is removed whatever its contents, and is safe to remove if it does not exist', async ({
      engine,
      run,
      volume,
    }) => {
      const name = await volume();
      await run('mkdir -p deep/closed && touch deep/closed/file && chmod 0 deep/closed deep', workspaceOf(name));
      expect(await engine.hasVolume(name)).toBe(true);
      await engine.removeVolume(name);
      expect(await engine.hasVolume(name)).toBe(false);
      await engine.removeVolume(name);
      await engine.removeResource({ kind: 'volume', name });
    });

    test('is not removed as long as a sandbox has it', async ({ engine, start, volume }) => {
      const name = await volume();
      const sandbox = await start(workspaceOf(name));
      await expect(engine.removeVolume(name)).rejects.toMatchObject({
        code: 'DOCKER_FAILED',
        cause: { statusCode: 409 },
      });
      await engine.removeResource({ kind: 'volume', name });
      expect(await runIn(sandbox, 'echo work > file && cat file')).toMatchObject({ stdout: 'work\n' });
      await expect(engine.removeVolume(name)).rejects.toThrow('volume is in use');
      await sandbox.remove();
      await engine.removeVolume(name);
      expect(await engine.hasVolume(name)).toBe(false);
    });

    test('is removed once if several ask for it at the same time', async ({ engine, volume }) => {
      const name = await volume();
      await Promise.all([1, 2, 3].map(() => engine.removeVolume(name)));
      expect(await engine.hasVolume(name)).toBe(false);
    });

    test('has a size that the engine limits, if it can', async ({ engine, volume }) => {
      const method = await engine.diskLimitMethod();
      expect(['quota', 'watch']).toContain(method);
      const created = await volume({ quotaBytes: 64 * 1024 ** 2 }).then(() => 'created', (error: Error) => error.message); // prettier-ignore
      expect(created).toMatch(method === 'quota' ? /^created$/ : /could not create a volume: .*no quota support/);
    });

    test('is on the disk of the engine, whose free space is known', async ({ engine }) => {
      const { bavail, bsize } = await statfs((await engine.info()).rootDir);
      const free = (await engine.freeBytes()) ?? 0;
      expect(free / (bavail * bsize)).toBeCloseTo(1, 0);
    });
  });

  describe.concurrent('a volume of a snapshot', () => {
    test('is listed for its home and kind, and not among the resources of attempts', async ({ engine, volumes }) => {
      const [home, name, kind] = [newName(), newName(), 'snapshot' as const];
      expect(await engine.hasVolume(name)).toBe(false);
      await engine.createKeptVolume(name, { kind, home, user: USER });
      volumes.push(name);
      expect(await engine.hasVolume(name)).toBe(true);
      expect(await engine.listKeptVolumes({ kind, home })).toEqual([name]);
      expect(await engine.listKeptVolumes({ kind, home: newName() })).toEqual([]);
      expect(await engine.listKeptVolumes({ kind: 'objects', home })).toEqual([]);
      expect(await engine.listResources(home)).toEqual([]);
    });
  });

  describe.concurrent('an overlay', () => {
    test('shows another volume, does not change it, and keeps what is written', async ({
      engine,
      run,
      volume,
      volumes,
    }) => {
      const [lower, upper, name] = [await volume(), await volume({ user: OTHER }), newName()];
      const fill = `umask 002; mkdir -p a/old; echo lower | tee a/file a/gone; chgrp -R ${SNAPSHOT_GROUP} a; chmod -R g+s a`;
      await run(fill, workspaceOf(lower));
      await engine.createOverlay({ name, upper, lower, user: OTHER }, SPEC.labels);
      volumes.push(name);
      const overlay = { ...workspaceOf(name), user: OTHER };
      const use = 'echo upper >> a/file; rm a/gone; mv a b; touch b/old/new; stat -c "%a %u" .; ls b; cat b/file';
      const shown = '755 34568\nfile\nold\nlower\nupper\n';
      expect(await run(use, overlay)).toMatchObject({ stdout: shown, stderr: '' });
      expect(await run('stat -c "%a %u" .; ls b; cat b/file', overlay)).toMatchObject({ stdout: shown });
      expect((await run('find . -type f; cat a/file', workspaceOf(lower))).stdout.split('\n').sort().join(' ')).toBe(
        ' ./a/file ./a/gone lower',
      );
      const written = await run('ls; cat upper/b/file', { ...workspaceOf(upper), user: OTHER });
      expect(written.stdout).toBe('upper\nwork\nlower\nupper\n');
    });

    test('has the mode of what it shows at its top, if it is to', async ({ engine, run, volume, volumes }) => {
      const [lower, upper, name] = [await volume(), await volume({ user: OTHER }), newName()];
      const modeOf = async (source: string) => (await run('touch file; stat -c "%a %u" .', workspaceOf(source))).stdout;
      expect(await modeOf(lower)).toBe('1777 0\n');
      await engine.createOverlay({ name, upper, lower, user: OTHER, keepsMode: true }, SPEC.labels);
      volumes.push(name);
      expect(await modeOf(name)).toBe(`1777 ${OTHER}\n`);
    });

    test('is removed with its volumes as soon as it is made', async ({ engine, volume }) => {
      const [lower, upper, name] = [await volume(), await volume(), newName()];
      await engine.createOverlay({ name, upper, lower, user: USER, keepsMode: true }, SPEC.labels);
      for (const each of [name, upper, lower]) await engine.removeVolume(each);
      expect(await engine.hasVolume(upper)).toBe(false);
    });

    test('is used by several sandboxes at the same time', async ({ engine, start, volume, volumes }) => {
      const [lower, upper, name] = [await volume(), await volume(), newName()];
      await engine.createOverlay({ name, upper, lower, user: USER }, SPEC.labels);
      volumes.push(name);
      const [one, other] = await Promise.all([start(workspaceOf(name)), start(workspaceOf(name))]);
      await runIn(one, 'echo shared > file');
      await one.remove();
      await expect(engine.removeVolume(name)).rejects.toThrow('volume is in use');
      expect(await runIn(other, 'cat file')).toMatchObject({ stdout: 'shared\n' });
    });

    test('cannot be created without its volumes', async ({ engine, volume }) => {
      const [upper, name] = [await volume(), newName()];
      const overlay = { name, upper, lower: newName(), user: USER };
      await expect(engine.createOverlay(overlay, SPEC.labels)).rejects.toMatchObject({ code: 'DOCKER_FAILED' });
      expect(await engine.hasVolume(name)).toBe(false);
      // A sandbox in the background may still have it.
      await vi.waitFor(() => engine.removeVolume(upper), PATIENCE);
    });
  });
}
