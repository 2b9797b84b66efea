import { statfs } from 'node:fs/promises';
import { expect, it } from 'vitest';
import { openDockerEngine } from '../../src/sandbox/docker/engine.ts';
import { smallSandbox } from '../support/docker/sandbox-spec.ts';

const spec = smallSandbox('place', 21_500);
const elsewhere = openDockerEngine(undefined, { isHere: () => Promise.resolve(false) });

it('an engine that does not see the folders of this machine gets no facts from it, however it is reached', async () => {
  expect(await elsewhere.openFiles()).toBeUndefined();
  expect(await elsewhere.diskLimitMethod()).not.toBe('watch');
});

it('the free space of its disk is measured in a sandbox, and decides whether sandboxes start', async () => {
  const free = (await elsewhere.freeBytes()) ?? 0;
  expect(free).toBeGreaterThan(0);
  const refused = elsewhere.start({ ...spec, limits: { ...spec.limits, freeDiskBytes: 2 * free } });
  await expect(refused).rejects.toMatchObject({ code: 'DISK_FAILED' });
});

it('an engine of this machine is recognized by a folder that its sandboxes see', async () => {
  const engine = openDockerEngine();
  expect(await engine.isHere()).toBe(true);
  const { bavail, bsize } = await statfs((await engine.info()).rootDir);
  expect(Math.abs(((await engine.freeBytes()) ?? 0) - bavail * bsize)).toBeLessThan(1024 ** 3);
});
