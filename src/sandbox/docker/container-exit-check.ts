import type { Readable } from 'node:stream';
import type Docker from 'dockerode';
import { isRecord } from '../../lib/guards.ts';
import { tryParseJson } from '../../lib/parse-json.ts';
import { toDockerError } from './docker-client.ts';

const MAX_WAIT_MS = 5_000;
/** Far more than 256 events. */
const MAX_BYTES = 4 * 1024 * 1024;

/** What the engine knows about the exit of a container. */
export interface ExitEvents {
  /** Whether it has recorded the exit. */
  recorded: boolean;
  /** Whether it sent the container a signal before. */
  signalled: boolean;
}

/**
 * What the engine has recorded about a container that has just ended. It keeps its last 256 events since it was started. If
 * the exit is missing, the end of the engine caused it. An engine that shuts down in order, or a user of it, sends a signal
 * first. When systemd keeps the socket open, both otherwise look like any other exit. Throws DOCKER_FAILED,
 * DOCKER_UNAVAILABLE.
 */
export async function readExitEvents(docker: Pick<Docker, 'getEvents'>, id: string): Promise<ExitEvents> {
  try {
    const filters = JSON.stringify({ container: [id], event: ['die', 'kill'] });
    const events = (await docker.getEvents({ since: 1, filters })) as Readable;
    const timer = setTimeout(() => events.destroy(), MAX_WAIT_MS);
    const found = { recorded: false, signalled: false };
    await new Promise<void>((resolve) => {
      let text = '';
      let left = MAX_BYTES;
      events.on('data', (bytes: Buffer) => {
        left -= bytes.length;
        if (left < 0) return void events.destroy();
        const lines = (text + bytes.toString('utf8')).split('\n');
        text = lines.pop() ?? '';
        for (const line of lines) {
          const event = tryParseJson(line);
          if (!isRecord(event) || found.recorded) continue;
          if (event.Action === 'die') found.recorded = true;
          else found.signalled = true;
        }
        if (found.recorded) resolve();
      });
      events.on('error', () => resolve());
      events.once('close', () => resolve());
    });
    clearTimeout(timer);
    events.destroy();
    return found;
  } catch (error) {
    throw toDockerError(error, 'list its events');
  }
}
