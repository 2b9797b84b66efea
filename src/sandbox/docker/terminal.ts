import type { Duplex } from 'node:stream';
import { pipeline } from 'node:stream/promises';
import type { Container, Exec } from 'dockerode';
import { ignore, latest, retry } from '../../lib/async.ts';
import type { Terminal } from '../sandbox.ts';
import { engineStatus, toDockerError } from './docker-client.ts';

/**
 * Executes a shell script on a terminal in a running container, with the environment, user and limits of the container, and
 * connects it to the terminal of a person. Returns its exit code; undefined if the container ended before it. Throws
 * DOCKER_FAILED, DOCKER_UNAVAILABLE.
 */
export async function runOnTerminal(
  container: Container,
  script: string,
  terminal: Terminal,
): Promise<number | undefined> {
  const { exec, stream } = await execute(container, script);
  const fit = latest(() => retry(() => setSize(exec, terminal.size()), { delaysMs: RESIZE_DELAYS_MS }));
  const off = terminal.onResize(() => void fit());
  void fit();
  terminal.input.pipe(stream);
  try {
    // Fails if the container is removed.
    await pipeline(stream, terminal.output, { end: false }).catch(ignore);
  } finally {
    terminal.input.unpipe(stream);
    off();
    stream.destroy();
  }
  return readExitCode(exec);
}

/** Before a size is sent again, in ms: the engine refuses one that comes before the process runs, or after its end. */
const RESIZE_DELAYS_MS = [50, 200, 1000];

/** Call it one at a time: the engine may handle two requests in any order. */
async function setSize(exec: Exec, { rows, columns }: { rows: number; columns: number }): Promise<void> {
  await exec.resize({ h: rows, w: columns });
}

async function execute(container: Container, script: string): Promise<{ exec: Exec; stream: Duplex }> {
  try {
    const exec = await container.exec({
      Cmd: ['/bin/sh', '-c', script],
      AttachStdin: true,
      AttachStdout: true,
      AttachStderr: true,
      Tty: true,
      Env: ['TERM=xterm-256color'],
    });
    const stream = await exec.start({ hijack: true, stdin: true, Tty: true });
    stream.on('error', ignore);
    return { exec, stream };
  } catch (error) {
    throw toDockerError(error, 'open a terminal in a container');
  }
}

async function readExitCode(exec: Exec): Promise<number | undefined> {
  try {
    const { Running, ExitCode } = await exec.inspect();
    return Running ? undefined : (ExitCode ?? undefined);
  } catch (error) {
    if (engineStatus(error) === 404) return undefined;
    throw toDockerError(error, 'inspect a terminal of a container');
  }
}
