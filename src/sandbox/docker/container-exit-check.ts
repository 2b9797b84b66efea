import type { Readable } from 'node:stream';
import type Docker from 'dockerode';
import { toDockerError } from './docker-errors.ts';

const MAX_WAIT_MS = 5_000;

/**
 * Whether the engine has recorded the exit of a container that has just ended. The engine keeps its last 256 events
 * since it was started. If the exit is missing, a shutdown of the engine caused it; when systemd keeps the socket open,
 * it otherwise looks like any other exit. Throws DOCKER_FAILED, DOCKER_UNAVAILABLE.
 */
export async function isExitRecorded(docker: Docker, id: string): Promise<boolean> {
  try {
    const filters = JSON.stringify({ container: [id], event: ['die'] });
    const events = (await docker.getEvents({ since: 1, filters })) as Readable;
    const timer = setTimeout(() => events.destroy(), MAX_WAIT_MS);
    const first = await new Promise<boolean>((resolve) => {
      events.once('data', () => resolve(true));
      events.on('error', () => resolve(false));
      events.once('close', () => resolve(false));
    });
    clearTimeout(timer);
    events.destroy();
    return first;
  } catch (error) {
    throw toDockerError(error, 'list its events');
  }
}
