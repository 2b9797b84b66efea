import { randomBytes } from 'node:crypto';
import { mkdir, rm, writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { createFolders } from '../../lib/fs.ts';
import { processMark } from '../../lib/process-identity.ts';
import type { Mount, SandboxEngine } from '../sandbox.ts';
import { runOneOffSandbox } from '../one-off-sandbox.ts';
import { isEngineResponse } from './docker-errors.ts';

/** Whether a one-off sandbox can read a new file in `dir`; it cannot if the engine runs on another machine. */
export async function canMount(engine: Pick<SandboxEngine, 'start'>, dir: string): Promise<boolean> {
  const secret = randomBytes(8).toString('hex');
  const probe = join(dir, `probe-${processMark()}-${secret}`);
  await createFolders(dir, 0o700);
  await mkdir(probe);
  try {
    await writeFile(join(probe, 'secret'), secret, { mode: 0o644 });
    return (await readThroughSandbox(engine, probe)) === secret;
  } catch (error) {
    if (isEngineResponse(error)) return false;
    throw error;
  } finally {
    await rm(probe, { recursive: true, force: true });
  }
}

async function readThroughSandbox(engine: Pick<SandboxEngine, 'start'>, dir: string): Promise<string> {
  const mounts: Mount[] = [{ kind: 'bind', source: dir, target: '/mnt', readOnly: true }];
  return (await runOneOffSandbox(engine, { purpose: 'mount', mounts, script: 'cat /mnt/secret', wallMs: 10_000 })).text;
}
