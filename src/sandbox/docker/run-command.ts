import { Readable, type Duplex } from 'node:stream';
import { pipeline } from 'node:stream/promises';
import type { Container } from 'dockerode';
import { HaloError } from '../../core/errors.ts';
import type { Command, SandboxExit } from '../sandbox.ts';
import type { DiskEnd } from './disk-guard.ts';
import { engineStatus, fromDocker } from './docker-errors.ts';
import { pump, type Piece } from './demultiplex.ts';
import { watchForks } from './refused-forks.ts';
import { watchLimits, type KillReason } from './watch-limits.ts';

/** How long output may still come after the main process is gone: something else may hold the pipe. */
const DRAIN_MS = 5_000;

/** What the last line of a preparing script on stdout must be. */
const READY = 'halo: ready\n';

/** A started container that waits for a script on stdin. */
export interface Attached {
  container: Container;
  /** The hijacked stdin/stdout stream, attached before the start so that no output is lost. */
  stream: Duplex;
  pieces: AsyncGenerator<Piece, void, void>;
  /** Settles when the container is gone; asked for before the start so that a quick end is not missed. */
  exited: Promise<unknown>;
  /** Watches what the sandbox writes to disk until the answer is called; none: it can write to no volume. */
  watchDisk: ((end: (why: DiskEnd) => void) => () => void) | undefined;
}

/** Runs a trusted script in the waiting container, which then waits again. Throws DOCKER_FAILED with its stderr. */
export async function prepareSandbox({ stream, pieces }: Attached, script: string): Promise<void> {
  writeScript(stream, `set -e\n${script}\nprintf '${READY.trimEnd()}\\n'\nexec /opt/halo/bin/wait`);
  let heard = '';
  let complaint = '';
  while (!heard.endsWith(READY)) {
    const { value, done } = await pieces.next();
    if (done) throw new HaloError('DOCKER_FAILED', `a sandbox could not be prepared: ${complaint.trim() || heard}`);
    const text = value.bytes.toString('utf8');
    if (value.from === 'stdout') heard = (heard + text).slice(-1_000);
    else complaint = (complaint + text).slice(-1_000);
  }
}

/** Hands a waiting container its command and follows it to its end. Limits end in a kill, never in a wait. */
export async function runCommand(attached: Attached, command: Command): Promise<SandboxExit> {
  const { container, stream, pieces, exited } = attached;
  const started = Date.now();
  const watch = watchLimits(command, () => void killContainer(container, stream));
  const leaveDisk = attached.watchDisk?.((why) => watch.end(why));
  const forks = watchForks(container.id);
  try {
    const feeding = feed(stream, command);
    let broken: unknown;
    const output = pump(pieces, command, (bytes) => watch.heard(bytes)).catch((error: unknown) => {
      broken = error;
      void killContainer(container, stream);
    });
    await exited.catch((error: unknown) => {
      throw fromDocker(error, 'wait for a container');
    });
    if ((await withDeadline(output, DRAIN_MS)) === 'late') stream.destroy();
    else if (broken !== undefined && watch.reason() === undefined)
      throw fromDocker(broken, 'read the output of a container');
    await output;
    await feeding;
    const facts = await container.inspect().catch((error: unknown) => {
      if (engineStatus(error) === 404) return undefined;
      throw fromDocker(error, 'inspect a container');
    });
    return { ...describeExit(watch.reason(), facts?.State, Date.now() - started), forksRefused: forks.refused() };
  } finally {
    watch.stop();
    leaveDisk?.();
    forks.stop();
    stream.destroy();
  }
}

function writeScript(stream: Duplex, script: string): void {
  const bytes = Buffer.from(script);
  stream.write(`${bytes.length}\n`);
  stream.write(bytes);
}

/** Writes the script and then the command's stdin. A container that ends early is no error. */
async function feed(stream: Duplex, command: Command): Promise<void> {
  writeScript(stream, command.script);
  const input = typeof command.stdin === 'string' ? Readable.from([command.stdin]) : command.stdin;
  try {
    if (input === undefined) stream.end();
    else await pipeline(input, stream);
  } catch (error) {
    if (!isClosedPipe(error)) throw error;
  }
}

function isClosedPipe(error: unknown): boolean {
  const code = (error as NodeJS.ErrnoException).code ?? '';
  return ['EPIPE', 'ECONNRESET', 'ERR_STREAM_PREMATURE_CLOSE', 'ERR_STREAM_DESTROYED'].includes(code);
}

/** Never throws: when the engine refuses, or the stream does not end by itself, we stop listening all the same. */
async function killContainer(container: Container, stream: Duplex): Promise<void> {
  await container.kill().catch(() => {});
  setTimeout(() => stream.destroy(), DRAIN_MS).unref();
}

async function withDeadline(promise: Promise<unknown>, ms: number): Promise<'in time' | 'late'> {
  let timer: NodeJS.Timeout | undefined;
  const late = new Promise<'late'>((resolve) => {
    timer = setTimeout(() => resolve('late'), ms);
  });
  try {
    return await Promise.race([promise.then(() => 'in time' as const), late]);
  } finally {
    clearTimeout(timer);
  }
}

/** Reads the engine's facts: an exit code counts only if nobody killed the container from outside. */
export function describeExit(
  reason: KillReason | undefined,
  state: { ExitCode?: number; OOMKilled?: boolean } | undefined,
  ms: number,
): Omit<SandboxExit, 'forksRefused'> {
  const exitCode = reason === undefined ? state?.ExitCode : undefined;
  const flagged = state?.OOMKilled === true;
  return {
    ended: reason ?? 'exited',
    exitCode,
    outOfMemory: flagged ? 'yes' : exitCode === 137 ? 'maybe' : 'no',
    ms,
  };
}
