import type { ExitEvents } from './container-exit-check.ts';
import { watchLimits, watchPidsLimit, type KillReason, type LimitWatch } from './command-limits.ts';
import { writeOutput, type OutputChunk } from './demultiplex.ts';
import { openPipeReader, type PipeReader } from '../output-pipe.ts';
import { openDepthReport, type DepthRequest } from './disk/depth-report.ts';
import { engineOf, engineStatus, toDockerError } from './docker-client.ts';
import type { DiskLimitReason } from './disk/disk-limit.ts';
import type { Command, SandboxExit } from '../sandbox.ts';
import { ignore, sleep, withTimeout } from '../../lib/async.ts';
import { discardSink } from '../../lib/streams.ts';
import { shellQuote } from '../../lib/text.ts';
import { HaloError, isDiskFullMessage } from '../../core/failure/errors.ts';
import type { Container } from 'dockerode';
import { pipeline } from 'node:stream/promises';
import { Readable, type Duplex } from 'node:stream';

/** How long to wait for remaining output after the main process is gone: another process may hold the pipe. */
const DRAIN_MS = 5_000;

/** The same for a pipe that is mounted: no process of a container that has ended holds it, but the disk may be slow. */
const PIPE_DRAIN_MS = 60_000;

/** How long to wait for the engine to report the exit after the output has ended. */
const EXIT_WAIT_MS = 10_000;

/** Time limit of a preparing script: it may check out a large repository, without output. */
const PREPARE_MS = 15 * 60_000;

/** The last line that a preparing script must print on stdout. */
const READY = 'halo: ready\n';

/** Maximum number of characters kept of its stdout. */
const MAX_PREPARE_OUTPUT = 16_384;

/** Written to stdout before a command, and not part of its output: a container that lost its stdin lacks it. */
const BEGUN = 0x06;

/** The exit code of `wait` (docker/sandbox/wait.c) if there is no shell. */
const NO_SHELL = 126;

/** The longest script that `wait` accepts, in bytes. */
const MAX_SCRIPT_BYTES = 128 * 1024 - 1;

/** A started container that waits for a script on stdin. */
export interface AttachedContainer {
  container: Container;
  /** The hijacked stdin/stdout stream, attached before the start so that no output is lost. */
  stream: Duplex;
  output: AsyncGenerator<OutputChunk, void, void>;
  /** Settles when the container is gone; requested before the start so that an early exit is not missed. */
  exited: Promise<unknown>;
  /** Watches the disk usage of the sandbox until the returned function is called; undefined if no volume is writable. */
  watchDisk: ((end: (why: DiskLimitReason) => void) => () => void) | undefined;
  /** The folders whose depth is to be measured when a command has ended; undefined if that is not needed. */
  depth: DepthRequest | undefined;
  /** Whether the engine runs on this machine. */
  isHere: () => Promise<boolean>;
  /** Aborts when halo removes the container, whose command then ends as aborted. */
  removing: AbortSignal;
  /** What the engine recorded about the exit: nothing if it was restarted since. */
  readExitEvents: () => Promise<ExitEvents>;
}

/**
 * Runs a trusted script in the waiting container, which then waits again. Returns the end of its stdout. Throws
 * DOCKER_FAILED with its stderr, and the error of `stdin`.
 */
export async function prepareSandbox(attached: AttachedContainer, script: string, stdin?: Readable): Promise<string> {
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

async function followPreparation({ container, output: pieces }: AttachedContainer): Promise<string> {
  let heard = '';
  let complaint = '';
  while (!heard.endsWith(READY)) {
    const { value, done } = await pieces.next().catch((error: unknown) => {
      throw toDockerError(error, 'prepare a sandbox', container);
    });
    if (done) throw unprepared(container, complaint.trim() || heard);
    const text = value.bytes.toString('utf8');
    if (value.from === 'stdout') heard = (heard + text).slice(-MAX_PREPARE_OUTPUT);
    else complaint = (complaint + text).slice(-1_000);
  }
  return heard.slice(0, -READY.length);
}

function unprepared(container: Container, why: string): HaloError {
  const isFull = isDiskFullMessage(why);
  return isFull
    ? toDockerError(new Error(why), 'prepare a sandbox', container)
    : new HaloError('DOCKER_FAILED', `A sandbox could not be prepared: ${why}`, { cause: why });
}

/**
 * Runs the command in a waiting container until it ends or is killed at a limit. Throws DOCKER_FAILED or
 * DOCKER_UNAVAILABLE when the engine does not report the exit, or stopped the container itself.
 */
export async function runCommand(attached: AttachedContainer, command: Command): Promise<SandboxExit> {
  const { container, stream, output: pieces, removing } = attached;
  const started = performance.now();
  const watch = watchLimits(command, () => void killContainer(container, stream));
  const onRemoval = () => watch.end('aborted');
  if (removing.aborted) onRemoval();
  removing.addEventListener('abort', onRemoval, { once: true });
  const leaveDisk = attached.watchDisk?.((why) => watch.end(why));
  const forks = watchPidsLimit(container.id, attached.isHere);
  let pipe: PipeReader | undefined;
  let pipedOutput: Promise<void> | undefined;
  try {
    pipe = command.outputPipe && openPipeReader(command.outputPipe.path);
    const depth = attached.depth && openDepthReport(attached.depth);
    const feeding = feed(stream, command, depth?.request);
    feeding.catch(ignore); // observed at the end; this avoids an unhandled rejection
    const begun = { seen: false };
    let broken: unknown;
    const write = (from: AsyncGenerator<OutputChunk, void, void>, sinks: Pick<Command, 'stdout' | 'stderr'>) =>
      writeOutput(from, sinks, (bytes) => watch.addOutput(bytes)).catch((error: unknown) => {
        broken ??= error;
        void killContainer(container, stream);
      });
    const { stdout, stderr } = command;
    const said = withoutBegun(depth ? depth.read(pieces) : pieces, begun);
    const attachedOutput = write(said, pipe ? { stdout: discardSink(), stderr } : command);
    pipedOutput = pipe && write(stdoutOf(pipe), { stdout, stderr: discardSink() });
    await waitForExit(attached, attachedOutput, watch);
    // Before the output is read to its end: the engine keeps few events.
    const events = watch.reason() === undefined ? attached.readExitEvents() : undefined;
    events?.catch(ignore);
    pipe?.release();
    const isLate = (await withTimeout(DRAIN_MS, attachedOutput)) === 'late';
    if (isLate) stream.destroy();
    if (pipedOutput !== undefined && (await withTimeout(PIPE_DRAIN_MS, pipedOutput)) === 'late') {
      broken ??= lostOutput(container);
      pipe?.destroy();
    }
    if (!isLate && broken !== undefined && watch.reason() === undefined)
      throw toDockerError(broken, 'read the output of a container', container);
    await Promise.all([attachedOutput, pipedOutput]);
    // The input of a conversation may still be open.
    if (command.stdin instanceof Readable) command.stdin.destroy();
    await feeding;
    const exit = watch.reason() === undefined && events ? await readExit(attached, events) : undefined;
    if (exit !== undefined && !begun.seen && !endsBeforeShell(exit)) throw lostOutput(container);
    const ms = Math.round(performance.now() - started);
    return { ...describeExit(watch.reason(), exit, ms), forksRefused: forks.refused() };
  } finally {
    watch.stop();
    removing.removeEventListener('abort', onRemoval);
    leaveDisk?.();
    forks.stop();
    stream.destroy();
    pipe?.destroy();
    // Nothing is written after the end.
    await pipedOutput;
  }
}

async function* stdoutOf({ chunks }: PipeReader): AsyncGenerator<OutputChunk, void, void> {
  for await (const bytes of chunks) yield { from: 'stdout', bytes };
}

/**
 * Waits until the engine reports the exit. The init holds both pipes until it ends, so the output ends with the container
 * or when the connection is lost; dockerode does not report a wait that was interrupted. Throws DOCKER_FAILED then.
 */
async function waitForExit(
  { container, exited, removing }: AttachedContainer,
  output: Promise<void>,
  watch: LimitWatch,
): Promise<void> {
  const done = new AbortController();
  const reported = exited.then((answer) =>
    Number.isInteger((answer as { StatusCode?: number } | undefined)?.StatusCode),
  );
  const lost = output.then(() => sleep(EXIT_WAIT_MS, done.signal)).then(() => false);
  const isReported = await Promise.race([reported, lost]).catch(() => false);
  done.abort();
  if (isReported || removing.aborted) return;
  // The exit state of a container that halo killed is not needed.
  if (watch.reason() !== undefined && (await inspect(container))?.State.Running !== true) return;
  await container.kill().catch(ignore);
  throw lostOutput(container);
}

function lostOutput(container: Container): HaloError {
  return new HaloError('DOCKER_FAILED', `${engineOf(container)} lost the output of a container.`);
}

/** Whether a container may end like this before its command reports that it begins. */
function endsBeforeShell({ ExitCode, OOMKilled }: ExitState): boolean {
  return ExitCode === NO_SHELL || OOMKilled === true;
}

interface ExitState {
  ExitCode?: number | null;
  OOMKilled?: boolean;
}

/** Reads how a container ended that halo did not kill. */
async function readExit({ container }: AttachedContainer, events: Promise<ExitEvents>): Promise<ExitState> {
  const [facts, { recorded, signalled }] = await Promise.all([inspect(container), events]);
  if (!recorded) throw new HaloError('DOCKER_FAILED', `${engineOf(container)} was restarted, and stopped a container.`);
  if (facts?.State.Running !== false || !Number.isInteger(facts.State.ExitCode))
    throw new HaloError('DOCKER_FAILED', `${engineOf(container)} does not report how a container ended.`);
  // Processes of the container cannot send signals through the engine.
  if (signalled) throw new HaloError('DOCKER_FAILED', `${engineOf(container)}, or a user of it, stopped a container.`);
  return facts.State;
}

/** Undefined when the container was removed. */
async function inspect(container: Container) {
  return container.inspect().catch((error: unknown) => {
    if (engineStatus(error) === 404) return undefined;
    throw toDockerError(error, 'inspect a container');
  });
}

/** The output after the byte that says that the command begins. */
async function* withoutBegun(
  pieces: AttachedContainer['output'],
  begun: { seen: boolean },
): AsyncGenerator<OutputChunk, void, void> {
  for await (const piece of pieces) {
    const { from, bytes } = piece;
    if (begun.seen || from === 'stderr' || bytes[0] !== BEGUN) yield piece;
    else {
      begun.seen = true;
      if (bytes.length > 1) yield { from, bytes: bytes.subarray(1) };
    }
  }
}

/** A script that reports that it begins. The shell of the command counts its lines from 1, as in the settings. */
function reportBegun({ script, outputPipe }: Command): string {
  const report = `printf '\\006'${outputPipe === undefined ? '' : `; exec > ${outputPipe.inside}; /opt/halo/bin/widen-pipe`}`;
  const nested = `${report}; exec /bin/sh -c ${shellQuote(script)}`;
  return Buffer.byteLength(nested) <= MAX_SCRIPT_BYTES ? nested : `${report}\n${script}`;
}

/** `request`: what `wait` is asked for beside running the script. */
function writeScript(stream: Duplex, script: string, request = ''): void {
  const bytes = Buffer.from(script);
  stream.write(`${bytes.length}${request}\n`);
  stream.write(bytes);
}

/** Writes the script and then the command's stdin. Ignores that the container ends early. */
async function feed(stream: Duplex, command: Command, request: string | undefined): Promise<void> {
  writeScript(stream, reportBegun(command), request);
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

/** Kills the container and closes the stream. Never throws, even if the engine fails. */
async function killContainer(container: Container, stream: Duplex): Promise<void> {
  await container.kill().catch(ignore);
  setTimeout(() => stream.destroy(), DRAIN_MS).unref();
}

/** Describes the exit; the exit code counts only if halo did not kill the container. */
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
