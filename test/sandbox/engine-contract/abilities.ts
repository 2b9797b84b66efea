import { existsSync } from 'node:fs';
import { release } from 'node:os';
import { join } from 'node:path';
import Docker from 'dockerode';
import { describe, expect } from 'vitest';
import { HALO_IMAGE } from '../../../src/sandbox/docker/image/image-recipe.ts';
import { tempDir } from '../../support/temp-dir.ts';
import { newName, SPEC, test } from './engine-fixture.ts';

export function describeAbilities(): void {
  describe.concurrent('the engine', () => {
    test('reports its version and its properties', async ({ engine }) => {
      const info = await engine.info();
      expect(info).toMatchObject({ kernel: release(), apiVersion: expect.stringMatching(/^1\.\d\d$/) as string });
      expect(info.version).toMatch(/^\d+\.\d+/);
      expect(info.runtimes).toContain('runc');
      expect(info.id).not.toBe('');
      expect(info.configuration).toContain('runc');
      expect(existsSync(info.rootDir)).toBe(true);
    });

    test('finds out that sandboxes reach halo in each way, and can use overlays', async ({ engine }) => {
      const dir = tempDir('halo-reach');
      const found = await Promise.all([
        engine.canMount(dir),
        engine.canReach(join(dir, 'run'), undefined),
        engine.canBridge(),
        engine.canOverlay(),
      ]);
      expect(found).toEqual([true, { socket: true, pipe: true }, true, true]);
    });

    test('refuses an image that it does not have', async ({ engine }) => {
      const image = 'no-such-image:1';
      expect(await engine.imageId(image)).toBeUndefined();
      const missing = { code: 'IMAGE_MISSING' };
      await expect(engine.start({ ...SPEC, image })).rejects.toMatchObject(missing);
      await expect(engine.accounts(image)).rejects.toMatchObject(missing);
    });

    test('refuses a runtime that it does not have', async ({ engine }) => {
      const runtime = newName();
      const start = engine.start({ ...SPEC, runtime });
      await expect(start).rejects.toThrow(`Docker could not create a container: Unknown runtime specified ${runtime}`);
    });

    test('knows the tools and the accounts of halo’s image, which has a name and an id', async ({ engine, run }) => {
      const image = (await engine.imageId(HALO_IMAGE)) ?? '';
      expect(image).toMatch(/^sha256:[0-9a-f]{64}$/);
      expect(await engine.imageId(image)).toBe(image);
      expect(await engine.toolVersion('codex')).toMatch(/^\d+\.\d+/);
      expect(await engine.toolVersion('sh')).toBeUndefined();
      const { passwd, group } = await engine.accounts(image);
      expect(passwd).toMatch(/^root:x:0:0:/);
      expect(group).toMatch(/^root:x:0:/);
      expect(await run('command -v git', { image })).toMatchObject({ stdout: '/usr/bin/git\n' });
    });

    test('gives other images the tools of halo’s own', async ({ engine, run }) => {
      const image = 'halo-test-plain';
      await buildPlainImage(image);
      expect(await engine.imageId(image)).not.toBe(await engine.imageId(HALO_IMAGE));
      const { stdout, exit } = await run('ls /opt/halo/bin; touch /opt/halo/x 2>/dev/null || echo sealed; command -v git', { image }); // prettier-ignore
      expect(stdout).toMatch(/^bridge\n[^]*\nsealed\n$/);
      expect(exit.exitCode).toBe(127);
    });
  });
}

/** halo's image without git and the tools. */
async function buildPlainImage(tag: string): Promise<void> {
  const docker = new Docker();
  const context = join(import.meta.dirname, '../../e2e/fixtures/plain-image');
  const progress = await docker.buildImage({ context, src: ['Dockerfile'] }, { t: tag, networkmode: 'none' });
  await new Promise<void>((resolve, reject) =>
    docker.modem.followProgress(progress, (error) => (error === null ? resolve() : reject(error))),
  );
}
