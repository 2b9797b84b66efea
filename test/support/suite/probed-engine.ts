import { existsSync, mkdirSync, readFileSync, writeFileSync } from 'node:fs';
import { dirname, resolve } from 'node:path';
import { openDockerEngine } from '../../../src/sandbox/docker/engine.ts';
import { HALO_IMAGE } from '../../../src/sandbox/docker/image/image-recipe.ts';
import { openEngineProbes } from '../../../src/sandbox/engine-probes.ts';
import { probeCachePath } from '../../../src/sandbox/probe-cache.ts';

/** A HALO_HOME with nothing but the cached results. */
const PROBED = resolve(import.meta.dirname, '../../../node_modules/.cache/halo-probes');

/**
 * Probes an engine for the homes of tests, which are many. Without an engine, there are no results. `host` is its socket as
 * DOCKER_HOST has it; default: the engine that the environment names.
 */
export async function probeEngine(host?: string): Promise<void> {
  const engine = openDockerEngine(host === undefined ? undefined : { name: 'probed', address: host });
  const probes = openEngineProbes(engine, PROBED);
  const { runtime } = await probes.isolation('auto').catch(() => ({ runtime: undefined }));
  await Promise.allSettled([
    probes.canMount(),
    probes.canReach(runtime),
    probes.canOverlay(),
    probes.accounts(HALO_IMAGE),
  ]);
}

/** Gives a new HALO_HOME the results, as if a process had worked there before. Tests of the probes use homes without them. */
export function addProbeResults(home: string): void {
  const results = probeCachePath(PROBED);
  if (!existsSync(results)) return;
  const inJson = (path: string) => JSON.stringify(path).slice(1, -1);
  const target = probeCachePath(home);
  mkdirSync(dirname(target), { recursive: true, mode: 0o700 });
  writeFileSync(target, readFileSync(results, 'utf8').replaceAll(inJson(PROBED), inJson(home)));
}
