import { mkdtemp } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { pipeline } from 'node:stream/promises';
import Docker from 'dockerode';
import { extract } from 'tar-fs';
import { buildSandboxImage } from '../../../src/sandbox/docker/image/image.ts';

/** Takes `bin` with halo's own programs out of the sandbox image, into a new folder of the caller's. */
export async function takeTools(): Promise<string> {
  const docker = new Docker();
  await buildSandboxImage({ docker, log: () => undefined });
  const dir = await mkdtemp(join(tmpdir(), 'halo-tools-'));
  const container = await docker.createContainer({ Image: 'halo-sandbox' });
  await pipeline(await container.getArchive({ path: '/opt/halo/bin' }), extract(dir));
  await container.remove();
  return dir;
}
