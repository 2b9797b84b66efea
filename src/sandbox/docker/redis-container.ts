import { createHash } from 'node:crypto';
import type Docker from 'dockerode';
import { HaloError } from '../../core/failure/errors.ts';
import { engineStatus, openDockerClient, toDockerError } from './docker-client.ts';
import { SERVER_IMAGE } from './image/server-image.ts';

/** Images with `redis-server`; a local one is preferred to a download. */
const LOCAL_IMAGES = [SERVER_IMAGE, 'redis:7-alpine', 'redis:7', 'redis'];
const PULLED_IMAGE = 'redis:7-alpine';

interface RedisContainer {
  /** Absolute folders for data, logs and the unix socket, mounted at the same paths. */
  folders: string[];
  /** Arguments of `redis-server`. */
  args: string[];
}

/**
 * Runs Redis in a container without a network, reachable only by its unix socket, as the user that halo runs as. The
 * container is removed when the server ends. Returns a function that resolves to the reason if the container has ended,
 * or undefined while it runs. Throws REDIS_UNAVAILABLE when there is no engine or no image.
 */
export async function startRedisContainer(
  { folders, args }: RedisContainer,
  docker: Docker = openDockerClient(),
): Promise<() => Promise<string | undefined>> {
  try {
    const image = await ensureRedisImage(docker);
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
    return async () => ((await isContainerRunning(container)) ? undefined : 'its container ended');
  } catch (error) {
    const { message } = toDockerError(error, 'start Redis');
    throw new HaloError(
      'REDIS_UNAVAILABLE',
      `There is no Redis, and none could be started in a container: ${message}`,
      {
        hint: 'Install redis-server or valkey-server, or set HALO_REDIS_URL.',
        cause: error,
      },
    );
  }
}

async function isContainerRunning(container: Docker.Container): Promise<boolean> {
  try {
    return (await container.inspect()).State.Running;
  } catch (error) {
    // An engine that does not respond does not mean that the server has ended.
    return engineStatus(error) !== 404;
  }
}

async function ensureRedisImage(docker: Docker): Promise<string> {
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

/** Removes a container with this name that was left behind. */
async function removeStale(docker: Docker, name: string): Promise<void> {
  await docker
    .getContainer(name)
    .remove({ force: true })
    .catch((error: unknown) => {
      if (engineStatus(error) !== 404) throw error;
    });
}
