import { createHash } from 'node:crypto';
import type Docker from 'dockerode';
import { HaloError } from '../../core/failure/errors.ts';
import { openClient } from './docker-client.ts';
import { engineStatus, fromDocker } from './docker-errors.ts';
import { SERVER_IMAGE } from './image/server-image.ts';

/** Images that hold `redis-server`: one that is there already is preferred to a download. */
const LOCAL_IMAGES = [SERVER_IMAGE, 'redis:7-alpine', 'redis:7', 'redis'];
const PULLED_IMAGE = 'redis:7-alpine';

export interface RedisContainer {
  /** Absolute folders, mounted at the same paths: data, logs and the unix socket are there. */
  folders: string[];
  /** Arguments of `redis-server`. */
  args: string[];
}

/**
 * Runs Redis in a container without a network: it is reached by its unix socket alone, as the user that halo runs as.
 * The container is removed when the server ends. Answers with a way to ask whether it has ended: in words, undefined
 * while it runs. Throws REDIS_UNAVAILABLE when there is neither engine nor image.
 */
export async function startRedisContainer(
  { folders, args }: RedisContainer,
  docker: Docker = openClient(),
): Promise<() => Promise<string | undefined>> {
  try {
    const image = await findImage(docker);
    const name = `halo-redis-${createHash('sha256').update(folders.join('\n')).digest('hex').slice(0, 12)}`;
    await removeStale(docker, name);
    const container = await docker.createContainer({
      name,
      Image: image,
      Entrypoint: ['redis-server'],
      Cmd: args,
      User: `${process.getuid?.() ?? 0}:${process.getgid?.() ?? 0}`,
      WorkingDir: '/',
      Labels: { 'dev.halo': 'redis' },
      HostConfig: {
        NetworkMode: 'none',
        ReadonlyRootfs: true,
        CapDrop: ['ALL'],
        SecurityOpt: ['no-new-privileges:true'],
        AutoRemove: true,
        Mounts: folders.map((folder) => ({ Type: 'bind', Source: folder, Target: folder })),
      },
    });
    await container.start();
    return async () => ((await runs(container)) ? undefined : 'its container ended');
  } catch (error) {
    const { message } = fromDocker(error, 'start Redis');
    throw new HaloError(
      'REDIS_UNAVAILABLE',
      `There is no Redis, and none could be started in a container: ${message}.`,
      {
        hint: 'Install redis-server or valkey-server, or set HALO_REDIS_URL.',
        cause: error,
      },
    );
  }
}

async function runs(container: Docker.Container): Promise<boolean> {
  try {
    return (await container.inspect()).State.Running;
  } catch (error) {
    // An engine that does not answer says nothing of the server.
    return engineStatus(error) !== 404;
  }
}

async function findImage(docker: Docker): Promise<string> {
  for (const image of LOCAL_IMAGES) {
    const found = await docker
      .getImage(image)
      .inspect()
      .catch((error: unknown) => {
        if (engineStatus(error) !== 404) throw error;
      });
    if (found !== undefined) return image;
  }
  const progress = await docker.pull(PULLED_IMAGE);
  await new Promise<void>((resolve, reject) =>
    docker.modem.followProgress(progress, (error) => (error === null ? resolve() : reject(error))),
  );
  return PULLED_IMAGE;
}

/** A container of that name whose server ended without being removed. */
async function removeStale(docker: Docker, name: string): Promise<void> {
  await docker
    .getContainer(name)
    .remove({ force: true })
    .catch((error: unknown) => {
      if (engineStatus(error) !== 404) throw error;
    });
}
