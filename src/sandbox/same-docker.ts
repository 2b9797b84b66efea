import { randomBytes } from 'node:crypto';
import { ignore } from '../lib/async.ts';
import type { SandboxEngine } from './sandbox.ts';

type Client = Pick<SandboxEngine, 'info' | 'createVolume' | 'hasVolume' | 'removeVolume'>;

/**
 * Whether two clients reach the same Docker engine. Cloned machines report the same id, so a volume that is made through one
 * must be there for the other, too. Throws DOCKER_UNAVAILABLE, DOCKER_FAILED.
 */
export async function isSameDocker(a: Client, b: Client): Promise<boolean> {
  const [one, other] = await Promise.all([a.info(), b.info()]);
  if (one.id !== other.id) return false;
  const name = `halo-probe-${randomBytes(6).toString('hex')}`;
  try {
    await a.createVolume(name, { run: 'probe', storyKey: 'engine', attempt: 1, phase: 'probe' }, { user: 0 });
    return await b.hasVolume(name);
  } finally {
    // One that stays is swept with what other dead processes left.
    await a.removeVolume(name).catch(ignore);
  }
}
