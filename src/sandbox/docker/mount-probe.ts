import { randomBytes } from 'node:crypto';
import { mkdir, rm, writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { HaloError } from '../../core/errors.ts';
import { collectText, discard } from '../../lib/sinks.ts';
import type { SandboxEngine } from '../sandbox.ts';
import { TRUSTED_IMAGE } from './trusted-image.ts';

/** Asks a throwaway sandbox for a file just written in `dir`: a daemon elsewhere sees another disk, or none. */
export async function canMount(engine: Pick<SandboxEngine, 'start'>, dir: string): Promise<boolean> {
  const secret = randomBytes(8).toString('hex');
  const probe = join(dir, `probe-${secret}`);
  await mkdir(probe, { recursive: true });
  try {
    await writeFile(join(probe, 'secret'), secret, { mode: 0o644 });
    return (await readThroughSandbox(engine, probe)) === secret;
  } catch (error) {
    if (error instanceof HaloError && error.code === 'DOCKER_FAILED') return false;
    throw error;
  } finally {
    await rm(probe, { recursive: true, force: true });
  }
}

async function readThroughSandbox(engine: Pick<SandboxEngine, 'start'>, dir: string): Promise<string> {
  const sandbox = await engine.start({
    image: TRUSTED_IMAGE,
    labels: { run: 'probe', storyKey: 'mount', attempt: 1, phase: 'probe' },
    user: 65534,
    workdir: '/',
    env: {},
    mounts: [{ kind: 'bind', source: dir, target: '/mnt', readOnly: true }],
    limits: { cpus: 1, memoryBytes: 64 * 1024 * 1024, pids: 16 },
  });
  try {
    const stdout = collectText(1_000);
    const limits = { wallMs: 10_000, idleMs: 10_000, outputBytes: 10_000 };
    await sandbox.run({ script: 'cat /mnt/secret', stdout: stdout.sink, stderr: discard(), ...limits });
    return stdout.text();
  } finally {
    await sandbox.remove();
  }
}
