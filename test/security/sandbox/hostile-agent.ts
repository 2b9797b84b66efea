import Docker from 'dockerode';
import { expect } from 'vitest';
import type { RunState } from '../../../src/core/run/state.ts';
import { scripted, type TestHalo } from '../../support/halo/halo.ts';
import { PATIENCE } from '../../support/patience.ts';
import type { TestRepository } from '../../support/repository/repository.ts';
import { newRepository } from '../../support/repository/new-repository.ts';

export const LIMITS = [
  'limits.memory="256m"',
  'limits.pids=64',
  'limits.wall="40s"',
  'limits.idle="40s"',
  'tests.baseline=never',
];

export interface Attacked {
  state: RunState;
  repository: TestRepository;
  /** Why the only story ended, and what is said of it. */
  story: string | undefined;
  says: string;
}

/** Runs one story with a hostile agent, which is a shell script, to its end. Nothing of the run stays on the engine. */
export async function attack(
  halo: TestHalo,
  script: string,
  { settings = [], gates = [] }: { settings?: string[]; gates?: string[] } = {},
): Promise<Attacked> {
  const repository = newRepository({});
  const state = await halo.run(repository.root, [{ id: 'US-1' }], scripted(script, gates, [...LIMITS, ...settings]));
  await expectNoResidue(state.runId);
  const [story] = state.stories;
  return { state, repository, story: story?.stopReason, says: story?.summary ?? '' };
}

/** Nothing of a run may stay: no container, no volume, no folder for its sockets. */
export async function expectNoResidue(run: string): Promise<void> {
  const docker = new Docker();
  await expect
    .poll(async () => {
      const filters = { label: [`dev.halo.run=${run}`] };
      const [containers, volumes] = await Promise.all([
        docker.listContainers({ all: true, filters }),
        docker.listVolumes({ filters: JSON.stringify(filters) }),
      ]);
      return [...containers.map(({ Names }) => Names), ...volumes.Volumes.map(({ Name }) => Name)];
    }, PATIENCE)
    .toEqual([]);
}

/** Allocates memory without end. */
export const EAT = `node -e 'const a=[];for(;;)a.push(Buffer.alloc(8e6,1))'`;

export function expectOutOfMemory({ state, story, says }: Attacked): void {
  expect([state.stopReason, story]).toEqual(['OUT_OF_MEMORY', 'OUT_OF_MEMORY']);
  expect(says).toMatch(/ran out of memory|probably for its memory/);
}
