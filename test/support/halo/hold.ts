import { once } from 'node:events';
import Docker from 'dockerode';
import { vi } from 'vitest';
import { PATIENCE } from '../patience.ts';

/** Part of a script in a sandbox, which waits there until `release`. */
export const HOLD = 'until test -e /tmp/released; do sleep 0.05; done';

/** Ends the waiting of the scripts that a run, or one story of it, executes. Sandboxes that start later wait again. */
export function release(runId: string, storyKey?: string): Promise<void> {
  return releaseOn(new Docker(), runId, storyKey);
}

/** The same on another engine than that of the environment. */
export async function releaseOn(docker: Docker, runId: string, storyKey?: string): Promise<void> {
  const label = [`dev.halo.run=${runId}`, ...(storyKey === undefined ? [] : [`dev.halo.story=${storyKey}`])];
  for (const { Id } of await docker.listContainers({ filters: { label } }))
    await touch(docker.getContainer(Id)).catch((error: { statusCode?: number }) => {
      // It has ended meanwhile.
      if (error.statusCode !== 404 && error.statusCode !== 409) throw error;
    });
}

/** Releases all that waits in a home, again and again, until the condition is met. */
export function releaseUntil(runIds: () => readonly string[], met: () => unknown): Promise<void> {
  return vi.waitFor(async () => {
    for (const runId of runIds()) await release(runId);
    await met();
  }, PATIENCE);
}

async function touch(container: Docker.Container): Promise<void> {
  const execution = await container.exec({ Cmd: ['touch', '/tmp/released'], AttachStdin: true, AttachStdout: true });
  const stream = await execution.start({ hijack: true, stdin: true });
  stream.resume().end();
  await once(stream, 'end');
}
