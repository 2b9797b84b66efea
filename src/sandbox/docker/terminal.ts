import type { Duplex } from 'node:stream';
import { pipeline } from 'node:stream/promises';
import type { Container, Exec } from 'dockerode';
import { ignore } from '../../lib/async.ts';
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
  const fit = () => {
    const { rows, columns } = terminal.size();
    exec.resize({ h: rows, w: columns }).catch(ignore); // it may have ended
  };
  const off = terminal.onResize(fit);
  fit();
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
