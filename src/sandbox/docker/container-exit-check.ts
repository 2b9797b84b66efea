import type { Readable } from 'node:stream';
import type Docker from 'dockerode';
import { fromDocker } from './docker-errors.ts';

const PATIENCE_MS = 5_000;

/**
 * Whether the engine remembers the end of a container. It remembers the last 256 events, and none from before it was
 * started: whatever ended just now and is not among them was stopped by an engine that was itself being stopped, which
 * where systemd keeps the socket open looks like any other end. Throws DOCKER_FAILED, DOCKER_UNAVAILABLE.
 */
export async function remembersEnd(docker: Docker, id: string): Promise<boolean> {
  try {
    const filters = JSON.stringify({ container: [id], event: ['die'] });
    const events = (await docker.getEvents({ since: 1, filters })) as Readable;
    const timer = setTimeout(() => events.destroy(), PATIENCE_MS);
    const first = await new Promise<boolean>((resolve) => {
      events.once('data', () => resolve(true));
      events.on('error', () => resolve(false));
      events.once('close', () => resolve(false));
    });
    clearTimeout(timer);
    events.destroy();
    return first;
  } catch (error) {
    throw fromDocker(error, 'tell of what it did');
  }
}
