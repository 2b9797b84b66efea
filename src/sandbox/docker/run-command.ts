import { Readable, type Duplex } from 'node:stream';
import { pipeline } from 'node:stream/promises';
import type { Container } from 'dockerode';
import { HaloError } from '../../core/failure/errors.ts';
import { atMost } from '../../lib/at-most.ts';
import { sleep } from '../../lib/sleep.ts';
import type { Command, SandboxExit } from '../sandbox.ts';
import type { DiskEnd } from './disk-guard.ts';
import { engineStatus, fromDocker } from './docker-errors.ts';
import { pump, type Piece } from './demultiplex.ts';
import { watchForks } from './limits/pids-limit-watch.ts';
import { watchLimits, type KillReason, type Watch } from './limits/command-limits.ts';

/** How long output may still come after the main process is gone: something else may hold the pipe. */
const DRAIN_MS = 5_000;

/** How long an engine under load may take to tell of an end after the output has ended. */
const LOST_MS = 10_000;

/** How long a preparing script may take: it may check out a large repository, and says nothing meanwhile. */
const PREPARE_MS = 15 * 60_000;

/** What the last line of a preparing script on stdout must be. */
const READY = 'halo: ready\n';

/** How many characters of its stdout are kept. */
const HEARD = 16_384;

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
  /** Whether the engine that is there now is the one under which the container ended. */
  witnessed: () => Promise<boolean>;
}

/**
 * Runs a trusted script in the waiting container, which then waits again. Answers with the end of its stdout. Throws
 * DOCKER_FAILED with its stderr, and what `stdin` fails with.
 */
export async function prepareSandbox(attached: Attached, script: string, stdin?: Readable): Promise<string> {
  const { stream } = attached;
  const timer = setTimeout(() => stream.destroy(), PREPARE_MS);
  writeScript(stream, `set -e\n${script}\nprintf '${READY.trimEnd()}\\n'\nexec /opt/halo/bin/wait`);
  let broken: unknown;
  const feeding = stdin === undefined ? undefined : pipeline(stdin, stream, { end: false });
  feeding?.catch((error: unknown) => {
    broken = error;
    stream.destroy();
  });
  try {
    return await followPreparation(attached);
  } catch (error) {
    throw broken === undefined || isClosedPipe(broken) ? error : broken;
  } finally {
    clearTimeout(timer);
  }
}

async function followPreparation({ pieces }: Attached): Promise<string> {
  let heard = '';
  let complaint = '';
  while (!heard.endsWith(READY)) {
    const { value, done } = await pieces.next().catch((error: unknown) => {
      throw fromDocker(error, 'prepare a sandbox');
    });
    if (done) throw new HaloError('DOCKER_FAILED', `a sandbox could not be prepared: ${complaint.trim() || heard}`);
    const text = value.bytes.toString('utf8');
    if (value.from === 'stdout') heard = (heard + text).slice(-HEARD);
    else complaint = (complaint + text).slice(-1_000);
  }
  return heard.slice(0, -READY.length);
}

/**
 * Hands a waiting container its command and follows it to its end. Limits end in a kill, never in a wait. Throws
 * DOCKER_FAILED, DOCKER_UNAVAILABLE when the engine does not tell how it ended, or ended it itself.
 */
export async function runCommand(attached: Attached, command: Command): Promise<SandboxExit> {
  const { container, stream, pieces } = attached;
  const started = performance.now();
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
    await untilGone(attached, output, watch);
    if ((await atMost(DRAIN_MS, output)) === 'late') stream.destroy();
    else if (broken !== undefined && watch.reason() === undefined)
      throw fromDocker(broken, 'read the output of a container');
    await output;
    await feeding;
    const exit = watch.reason() === undefined ? await readExit(attached) : undefined;
    const ms = Math.round(performance.now() - started);
    return { ...describeExit(watch.reason(), exit, ms), forksRefused: forks.refused() };
  } finally {
    watch.stop();
    leaveDisk?.();
    forks.stop();
    stream.destroy();
  }
}

/**
 * The init holds both pipes until it ends: output that ends is the container's end, or else nobody listens any more, and
 * what was said since is lost. dockerode does not tell of a wait that broke off.
 */
async function untilGone({ container, exited }: Attached, output: Promise<void>, watch: Watch): Promise<void> {
  const done = new AbortController();
  const told = exited.then((answer) => Number.isInteger((answer as { StatusCode?: number } | undefined)?.StatusCode));
  const lost = output.then(() => sleep(LOST_MS, done.signal)).then(() => false);
  const isTold = await Promise.race([told, lost]).catch(() => false);
  done.abort();
  if (isTold) return;
  // Of what was to be killed anyway nothing more is wanted.
  if (watch.reason() !== undefined && (await inspect(container))?.State.Running !== true) return;
  await container.kill().catch(ignore);
  throw new HaloError('DOCKER_FAILED', 'Docker lost the output of a container');
}

interface ExitState {
  ExitCode?: number | null;
  OOMKilled?: boolean;
}

/** What the engine says of an end that was not ours. */
async function readExit({ container, witnessed }: Attached): Promise<ExitState> {
  const [facts, isSame] = await Promise.all([inspect(container), witnessed()]);
  if (!isSame) throw new HaloError('DOCKER_FAILED', 'Docker was restarted, and stopped a container');
  if (facts?.State.Running !== false || !Number.isInteger(facts.State.ExitCode))
    throw new HaloError('DOCKER_FAILED', 'Docker does not tell how a container ended');
  return facts.State;
}

/** Undefined when somebody has removed it. */
async function inspect(container: Container) {
  return container.inspect().catch((error: unknown) => {
    if (engineStatus(error) === 404) return undefined;
    throw fromDocker(error, 'inspect a container');
  });
}

function ignore(): void {}

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
  await container.kill().catch(ignore);
  setTimeout(() => stream.destroy(), DRAIN_MS).unref();
}

/** Reads the engine's facts: an exit code counts only if nobody killed the container from outside. */
function describeExit(
  reason: KillReason | undefined,
  state: ExitState | undefined,
  ms: number,
): Omit<SandboxExit, 'forksRefused'> {
  const exitCode = reason === undefined ? (state?.ExitCode ?? undefined) : undefined;
  const flagged = state?.OOMKilled === true;
  return {
    ended: reason ?? 'exited',
    exitCode,
    outOfMemory: flagged ? 'yes' : exitCode === 137 ? 'maybe' : 'no',
    ms,
  };
}
