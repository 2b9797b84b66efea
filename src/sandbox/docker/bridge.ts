import type { Duplex } from 'node:stream';
import type { Container } from 'dockerode';
import { HaloError } from '../../core/failure/errors.ts';
import { safeLine } from '../../core/safe-text.ts';
import { sleep } from '../../lib/sleep.ts';
import type { Door, Listener } from '../sandbox.ts';
import { multiplex } from '../stdio/multiplex.ts';
import { splitFrames } from './demultiplex.ts';
import { engineStatus, fromDocker } from './docker-errors.ts';

const START_MS = 30_000;
/** How often a bridge that was lost is started again, with growing pauses; what is in a sandbox can kill it at will. */
const RESTARTS = 8;
const FIRST_PAUSE_MS = 100;

/** Starts the bridge in a running container, and again when it is lost. Throws DOCKER_FAILED, DOCKER_UNAVAILABLE. */
export async function openBridge(container: Container, door: Door): Promise<Listener> {
  const closing = new AbortController();
  const first = await startBridge(container, door, closing.signal);
  void keepUp(container, door, { first, signal: closing.signal });
  return { close: () => closing.abort() };
}

/** Never throws. Ends when the container is gone, when it is told to, and when the bridge was lost too often. */
async function keepUp(
  container: Container,
  door: Door,
  { first, signal }: { first: Bridge; signal: AbortSignal },
): Promise<void> {
  let bridge: Bridge | undefined = first;
  for (let restarts = 0; ; restarts++) {
    const why: string = bridge === undefined ? 'it does not start' : await bridge.ended;
    if (signal.aborted || !(await isRunning(container))) return;
    door.onLoss(why, restarts < RESTARTS ? 'again' : 'gone');
    if (restarts >= RESTARTS) return;
    await sleep(FIRST_PAUSE_MS * 2 ** restarts, signal);
    if (signal.aborted) return;
    bridge = await startBridge(container, door, signal).catch(() => undefined);
  }
}

interface Bridge {
  /** Resolves with the reason for which it carries nothing any more. */
  ended: Promise<string>;
}

async function startBridge(container: Container, door: Door, signal: AbortSignal): Promise<Bridge> {
  const stream = await execute(container, door.port);
  const stop = () => stream.destroy();
  signal.addEventListener('abort', stop, { once: true });
  let complaint = '';
  let listens = false;
  async function* stdout(): AsyncGenerator<Buffer> {
    for await (const { from, bytes } of splitFrames(stream)) {
      // The engine says on stdout what keeps it from executing something.
      if (from === 'stderr' || !listens) complaint = (complaint + bytes.toString('utf8')).slice(-500);
      if (from === 'stdout') yield bytes;
    }
  }
  const started = new AbortController();
  const listening = () => {
    listens = true;
    started.abort();
  };
  const ended = multiplex({ from: stdout(), to: stream }, { listening, accept: door.accept }).finally(() => {
    signal.removeEventListener('abort', stop);
    started.abort();
  });
  await sleep(START_MS, started.signal);
  if (listens) return { ended };
  stream.destroy();
  const why = await ended;
  const says = safeLine(complaint, 300).trim() || why;
  throw new HaloError('DOCKER_FAILED', `the bridge out of a sandbox does not start: ${says}`, {
    hint: '`halo doctor` shows whether the image is up to date and how sandboxes reach halo',
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
    throw fromDocker(error, 'execute the bridge in a container');
  }
}

/** An engine that does not answer for a moment is no reason to give a sandbox up. */
async function isRunning(container: Container): Promise<boolean> {
  try {
    return (await container.inspect()).State.Running;
  } catch (error) {
    return engineStatus(error) !== 404;
  }
}
