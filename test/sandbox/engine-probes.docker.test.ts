import { existsSync, readFileSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { beforeAll, describe, expect, it, onTestFinished, vi } from 'vitest';
import { HaloError } from '../../src/core/failure/errors.ts';
import { openDockerEngine } from '../../src/sandbox/docker/engine.ts';
import { HALO_IMAGE } from '../../src/sandbox/docker/image/image-recipe.ts';
import { openEngineProbes, type EngineProbes } from '../../src/sandbox/engine-probes.ts';
import { probeCachePath } from '../../src/sandbox/probe-cache.ts';
import type { SandboxEngine } from '../../src/sandbox/sandbox.ts';
import { tempDir } from '../support/temp-dir.ts';

const engine = openDockerEngine();
const noSandbox = () => Promise.reject(new Error('a sandbox was started'));
/** The same engine, for a process that must not start a sandbox. */
const idle: SandboxEngine = {
  ...engine,
  ...{ start: noSandbox, canMount: noSandbox, canReach: noSandbox, canOverlay: noSandbox, accounts: noSandbox },
};
const reached = { socket: true, pipe: true };

async function probeAll(probes: EngineProbes) {
  return {
    isolation: await probes.isolation('auto'),
    mount: await probes.canMount(),
    reach: await probes.canReach(undefined),
    overlay: await probes.canOverlay(),
    accounts: await probes.accounts(HALO_IMAGE),
  };
}

describe('the probes of an engine', () => {
  let home: string;
  let found: Awaited<ReturnType<typeof probeAll>>;
  beforeAll(async () => {
    home = tempDir('halo-probes');
    found = await probeAll(openEngineProbes(engine, home));
  });

  it('find what this engine can do', () => {
    expect(found).toMatchObject({ mount: true, reach: reached, overlay: true, isolation: { ptys: true } });
    expect(found.isolation.facts.map(({ name }) => name)).toContain('capabilities');
    expect(found.accounts.passwd).toMatch(/^root:x:0:0:/);
  });

  it('run in the first process of a home; others start no sandbox', async () => {
    expect(await probeAll(openEngineProbes(idle, home))).toEqual(found);
  });

  it('are not cached for another folder, such as a home that was moved', async () => {
    const moved = tempDir('halo-probes');
    writeFileSync(probeCachePath(moved), readFileSync(probeCachePath(home)));
    const probes = openEngineProbes(idle, moved);
    expect(await probes.isolation('auto')).toEqual(found.isolation);
    await expect(probes.canMount()).rejects.toThrow('a sandbox was started');
    await expect(probes.canReach(undefined)).rejects.toThrow('a sandbox was started');
  });

  it('are not cached for another engine, or for another version of it', async () => {
    const facts = await engine.info();
    for (const change of [
      { id: 'another' },
      { version: '99.0' },
      { kernel: '99.0' },
      { configuration: 'other runtimes' },
    ]) {
      const other = { ...idle, info: () => Promise.resolve({ ...facts, ...change }) };
      await expect(openEngineProbes(other, home).canMount()).rejects.toThrow('a sandbox was started');
    }
  });

  it('are not cached without an image, or if the engine changes while they run', async () => {
    const other = tempDir('halo-probes');
    const can = () => Promise.resolve(true);
    const bare = { ...idle, imageId: () => Promise.resolve(undefined), canMount: can };
    expect(await openEngineProbes(bare, other).canMount()).toBe(true);
    const facts = await engine.info();
    let version = 0;
    const info = () => Promise.resolve({ ...facts, version: String((version += 1)) });
    expect(await openEngineProbes({ ...idle, info, canMount: can }, other).canMount()).toBe(true);
    expect(existsSync(probeCachePath(other))).toBe(false);
  });

  it('run again after a day for folders and overlays, not for isolation and accounts', async () => {
    vi.useFakeTimers({ toFake: ['Date'], now: Date.now() + 25 * 60 * 60 * 1000 });
    onTestFinished(() => void vi.useRealTimers());
    const probes = openEngineProbes(idle, home);
    await expect(probes.canMount()).rejects.toThrow('a sandbox was started');
    await expect(probes.canReach(undefined)).rejects.toThrow('a sandbox was started');
    await expect(probes.canOverlay()).rejects.toThrow('a sandbox was started');
    expect(await probes.isolation('auto')).toEqual(found.isolation);
    expect(await probes.accounts(HALO_IMAGE)).toEqual(found.accounts);
  });

  it.each(['quota', 'watch'] as const)(
    'find in each process how workspaces are limited, as of now: %s',
    async (method) => {
      const changed = { ...idle, diskLimitMethod: () => Promise.resolve(method) };
      expect(await openEngineProbes(changed, home).isolation('auto')).toEqual({ ...found.isolation, disk: method });
    },
  );

  it('run the isolation check again in each process if terminals could not be limited', async () => {
    const other = tempDir('halo-probes');
    const start: SandboxEngine['start'] = (spec) =>
      spec.limits.ptys === undefined
        ? engine.start(spec)
        : Promise.reject(new HaloError('DOCKER_FAILED', 'No terminals.'));
    expect(await openEngineProbes({ ...engine, start }, other).isolation('auto')).toMatchObject({ ptys: false });
    await expect(openEngineProbes(idle, other).isolation('auto')).rejects.toThrow('a sandbox was started');
  });

  it.each(['', '{', '{"a": 1}', '[]'])('run again if their file contains %j', async (content) => {
    const other = tempDir('halo-probes');
    writeFileSync(probeCachePath(other), content);
    const able = { ...idle, canMount: () => Promise.resolve(true) };
    expect(await openEngineProbes(able, other).canMount()).toBe(true);
    expect(await openEngineProbes(idle, other).canMount()).toBe(true);
  });

  it('run again in each process if the engine cannot do something', async () => {
    const other = tempDir('halo-probes');
    const partly = { socket: true, pipe: false };
    const unable = { ...idle, canMount: () => Promise.resolve(false), canReach: () => Promise.resolve(partly) };
    const probes = openEngineProbes(unable, other);
    expect([await probes.canMount(), await probes.canReach(undefined)]).toEqual([false, partly]);
    const able = { ...idle, canMount: () => Promise.resolve(true), canReach: () => Promise.resolve(reached) };
    const next = openEngineProbes(able, other);
    expect([await next.canMount(), await next.canReach(undefined)]).toEqual([true, reached]);
  });

  it('run once in a process, also if several ask at the same time, and all results are cached', async () => {
    const other = tempDir('halo-probes');
    let runs = 0;
    const count = () => {
      runs += 1;
      return Promise.resolve(true);
    };
    const counting = { ...idle, canMount: count, canOverlay: count, canReach: () => Promise.resolve(reached) };
    const probes = openEngineProbes(counting, other);
    await Promise.all([1, 2, 3].flatMap(() => [probes.canMount(), probes.canOverlay(), probes.canReach(undefined)]));
    expect(runs).toBe(2);
    const next = openEngineProbes(idle, other);
    expect([await next.canMount(), await next.canOverlay(), await next.canReach(undefined)]).toEqual([true, true, reached]); // prettier-ignore
  });

  it('still have results in a home that cannot be written', async () => {
    const able = { ...idle, canOverlay: () => Promise.resolve(true) };
    expect(await openEngineProbes(able, join('/proc', 'none')).canOverlay()).toBe(true);
  });
});
