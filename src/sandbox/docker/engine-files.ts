import { mkdtemp, rm, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { pack } from 'tar-fs';
import type { EngineAddress } from '../../core/engine/engine-address.ts';
import { openDockerClient, toDockerError } from './docker-client.ts';
import { HALO_IMAGE } from './image/image-recipe.ts';

const TARGET = '/files';

/**
 * Writes files into a folder of the machine of an engine, in their order, readable by root only. The folder is mounted into
 * a container that is never started. Throws IMAGE_MISSING, DOCKER_FAILED, DOCKER_UNAVAILABLE.
 */
export async function writeEngineFiles(
  at: EngineAddress,
  folder: string,
  files: Record<string, string>,
): Promise<void> {
  const docker = openDockerClient(at);
  const dir = await mkdtemp(join(tmpdir(), 'halo-engine-'));
  try {
    for (const [name, text] of Object.entries(files)) await writeFile(join(dir, name), text, { mode: 0o600 });
    const root = { uid: 0, gid: 0, mode: 0o600 };
    const archive = pack(dir, { entries: Object.keys(files), map: (header) => ({ ...header, ...root }) });
    const container = await docker.createContainer({
      Image: HALO_IMAGE,
      HostConfig: { NetworkMode: 'none', Mounts: [{ Type: 'bind', Source: folder, Target: TARGET }] },
    });
    try {
      // The types of tar-fs declare a different kind of stream.
      await container.putArchive(archive as unknown as NodeJS.ReadableStream, { path: TARGET });
    } finally {
      await container.remove({ force: true }).catch(() => undefined);
    }
  } catch (error) {
    throw toDockerError(error, `write files into ${folder}`);
  } finally {
    await rm(dir, { recursive: true, force: true });
  }
}
