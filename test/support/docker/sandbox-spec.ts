import type { SandboxSpec } from '../../../src/sandbox/sandbox.ts';

/** A small sandbox of halo's own image, with nothing in it; `story` shows in the container's name. */
export function smallSandbox(story: string, user: number): SandboxSpec {
  return {
    image: 'halo-sandbox',
    labels: { run: 'test', storyKey: story, attempt: 1, phase: 'test' },
    user,
    workdir: '/tmp',
    env: {},
    mounts: [],
    limits: { cpus: 1, memoryBytes: 128 * 1024 * 1024, pids: 64 },
  };
}
