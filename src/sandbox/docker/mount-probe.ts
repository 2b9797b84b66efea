import { randomBytes } from 'node:crypto';
import { mkdir, rm, writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { markProcess } from '../../lib/process-identity.ts';
import type { Mount, SandboxEngine } from '../sandbox.ts';
import { askSandbox } from '../one-off-sandbox.ts';
import { isAnswer } from './docker-errors.ts';

/** Asks a throwaway sandbox for a file just written in `dir`: a daemon elsewhere sees another disk, or none. */
export async function canMount(engine: Pick<SandboxEngine, 'start'>, dir: string): Promise<boolean> {
  const secret = randomBytes(8).toString('hex');
  const probe = join(dir, `probe-${markProcess()}-${secret}`);
  await mkdir(dir, { recursive: true, mode: 0o700 });
  await mkdir(probe);
  try {
    await writeFile(join(probe, 'secret'), secret, { mode: 0o644 });
    return (await readThroughSandbox(engine, probe)) === secret;
  } catch (error) {
    if (isAnswer(error)) return false;
    throw error;
  } finally {
    await rm(probe, { recursive: true, force: true });
  }
}

async function readThroughSandbox(engine: Pick<SandboxEngine, 'start'>, dir: string): Promise<string> {
  const mounts: Mount[] = [{ kind: 'bind', source: dir, target: '/mnt', readOnly: true }];
  return (await askSandbox(engine, { about: 'mount', mounts, script: 'cat /mnt/secret', wallMs: 10_000 })).text;
}
