import type { Duplex } from 'node:stream';
import type { Container } from 'dockerode';
import { HaloError } from '../../core/failure/errors.ts';
import { safeLine } from '../../core/text/safe-text.ts';
import { doubledDelay, sleep } from '../../lib/async.ts';
import type { ListenOptions, Listener } from '../sandbox.ts';
import { multiplex } from '../stdio-channel.ts';
import { splitFrames } from './demultiplex.ts';
import { engineStatus, toDockerError } from './docker-client.ts';

const START_MS = 30_000;
/** How often a lost bridge is restarted, with growing pauses: processes in the sandbox can kill it. */
const RESTARTS = 8;
const FIRST_PAUSE_MS = 100;

/** Starts the bridge in a running container and restarts it when it is lost. Throws DOCKER_FAILED, DOCKER_UNAVAILABLE. */
export async function openBridge(container: Container, options: ListenOptions): Promise<Listener> {
  const closing = new AbortController();
  const first = await startBridge(container, options, closing.signal);
  void keepUp(container, options, { first, signal: closing.signal });
  return { close: () => closing.abort() };
}

/** Restarts the bridge. Never throws. Ends when the container is gone, on the signal, and after too many restarts. */
async function keepUp(
  container: Container,
  options: ListenOptions,
  { first, signal }: { first: Bridge; signal: AbortSignal },
): Promise<void> {
  let bridge: Bridge | undefined = first;
  for (let restarts = 0; ; restarts++) {
    const why: string = bridge === undefined ? 'it does not start' : await bridge.ended;
    if (signal.aborted || !(await isRunning(container))) return;
    options.onLoss(why, restarts < RESTARTS ? 'again' : 'gone');
    if (restarts >= RESTARTS) return;
    await sleep(doubledDelay(restarts, FIRST_PAUSE_MS), signal);
    if (signal.aborted) return;
    bridge = await startBridge(container, options, signal).catch(() => undefined);
  }
}

interface Bridge {
  /** Resolves with the reason when the bridge has ended. */
  ended: Promise<string>;
}

async function startBridge(container: Container, options: ListenOptions, signal: AbortSignal): Promise<Bridge> {
  const stream = await execute(container, options.port);
  const stop = () => stream.destroy();
  signal.addEventListener('abort', stop, { once: true });
  let complaint = '';
  let listens = false;
  async function* stdout(): AsyncGenerator<Buffer> {
    for await (const { from, bytes } of splitFrames(stream)) {
      // The engine reports exec errors on stdout.
      if (from === 'stderr' || !listens) complaint = (complaint + bytes.toString('utf8')).slice(-500);
      if (from === 'stdout') yield bytes;
    }
  }
  const started = new AbortController();
  const listening = () => {
    listens = true;
    started.abort();
  };
  const ended = multiplex({ from: stdout(), to: stream }, { listening, accept: options.accept }).finally(() => {
    signal.removeEventListener('abort', stop);
    started.abort();
  });
  await sleep(START_MS, started.signal);
  if (listens) return { ended };
  stream.destroy();
  const why = await ended;
  const says = safeLine(complaint, 300).trim() || why;
  throw new HaloError('DOCKER_FAILED', `The bridge in a sandbox does not start: ${says}.`, {
    hint: 'Run `halo doctor`: it checks whether the image is up to date and how sandboxes reach halo.',
  });
}

async function execute(container: Container, port: number): Promise<Duplex> {
  try {
    const exec = await container.exec({
      Cmd: ['/opt/halo/bin/bridge', String(port)],
      AttachStdin: true,
      AttachStdout: true,
      AttachStderr: true,
      Tty: false,
      WorkingDir: '/',
    });
    const stream = await exec.start({ hijack: true, stdin: true });
    stream.on('error', () => undefined);
    return stream;
  } catch (error) {
    throw toDockerError(error, 'execute the bridge in a container');
  }
}

/** Also true when the engine does not respond, which may be temporary. */
async function isRunning(container: Container): Promise<boolean> {
  try {
    return (await container.inspect()).State.Running;
  } catch (error) {
    return engineStatus(error) !== 404;
  }
}
