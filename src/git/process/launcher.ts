import { fork, type ChildProcess } from 'node:child_process';
import { Readable } from 'node:stream';
import { fileURLToPath } from 'node:url';
import { HaloError } from '../../core/failure/errors.ts';
import { createRunner, type LaunchResult } from './commands.mjs';

/** A command that runs to its end. */
interface LaunchRequest {
  command: readonly string[];
  options: LaunchOptions;
  input: string | Uint8Array | { file: string } | undefined;
  signal: AbortSignal | undefined;
}

/** The options of execa that count here. */
interface LaunchOptions {
  cwd?: string;
  env?: Readonly<Record<string, string | undefined>>;
  /** Whether the variables of the process are added; default true. */
  extendEnv?: boolean;
  /** Bytes of stdout, and of stderr. */
  maxBuffer?: number;
  /** In ms. */
  timeout?: number;
  /** Where stdout goes: a new file. */
  outputFile?: string;
}

/** What the process sends. */
interface LaunchMessage {
  id: number;
  /** A part of a stream. */
  chunk?: Uint8Array;
  /** The command has ended. */
  result?: LaunchResult;
}

/** What runs commands for a launcher. */
type Runner = Pick<ChildProcess, 'pid' | 'connected' | 'ref' | 'unref' | 'channel' | 'disconnect'> & {
  send(message: object, done: (error: Error | null) => void): unknown;
};

/** Starts one; `end` is called if it ends before its commands. */
type StartRunner = (receive: (message: LaunchMessage) => void, end: (why: string) => void) => Runner;

/** A command that runs. */
interface Waiting {
  child: Runner;
  resolve: (result: LaunchResult | 'unsent') => void;
  take: ((chunk: Uint8Array) => void) | undefined;
}

interface StreamReader {
  take?: (chunk: Uint8Array) => void;
  /** Called when the process has the command, with what sends it messages about it. */
  onSent?: (send: (message: object) => void) => void;
}

/** How much of a stream is read before the process learns of it: a short stream is over then. */
const TAKEN_BYTES = 256 * 1024;

const NOT_ENDED = { timedOut: false, isMaxBuffer: false, isCanceled: false };

/**
 * Runs commands in a small process. The system copies the page tables of the process that starts another one: in a worker
 * with 200 MiB of memory, this takes ten times as long, and nothing else happens meanwhile. The process starts with `prepare`
 * or the first command, and ends with this one.
 */
export class Launcher {
  readonly #waiting = new Map<number, Waiting>();
  #process: Runner | undefined;
  #last = 0;
  #isClosed = false;
  readonly #startRunner: StartRunner;

  constructor(startRunner: StartRunner = startProcess) {
    this.#startRunner = startRunner;
  }

  /** Starts the process, which takes longer than most commands. */
  prepare(): void {
    this.#process ??= this.#start();
    this.#unrefIfIdle();
  }

  /** Throws DISK_FAILED if its process cannot be started, and nothing else: see `LaunchResult`. */
  async run(request: LaunchRequest, reader?: StreamReader): Promise<LaunchResult> {
    if (request.signal?.aborted) return { ...NOT_ENDED, isCanceled: true };
    const first = await this.#ask(request, reader);
    // The process was killed before it could receive the command.
    const result = first === 'unsent' ? await this.#ask(request, reader) : first;
    if (result !== 'unsent') return result;
    throw new HaloError('DISK_FAILED', 'The process that runs git cannot be started.', {
      hint: 'Raise the limits of open files and processes (ulimit -n, ulimit -u).',
    });
  }

  /**
   * The same for a command whose output is read while it runs, no faster than its reader takes it. `stdout` is destroyed if
   * the command cannot be run; `done` resolves like `run`.
   */
  stream(request: LaunchRequest): { stdout: Readable; done: Promise<LaunchResult> } {
    let unknown = 0;
    let tell: (message: object) => void = () => undefined;
    const stdout = new Readable({
      read: () => {
        if (unknown < TAKEN_BYTES) return;
        tell({ taken: unknown });
        unknown = 0;
      },
      destroy: (error, done) => {
        tell({ leave: true });
        done(error);
      },
    });
    const take = (chunk: Uint8Array) => {
      unknown += chunk.length;
      if (!stdout.destroyed) stdout.push(chunk);
    };
    const options = { ...request.options, isStream: true };
    const onSent = (send: (message: object) => void) => (tell = send);
    const done = this.run({ ...request, options }, { take, onSent }).then(
      (result) => {
        tell = () => undefined;
        // Otherwise the output is not whole, and the caller destroys it.
        if (result.exitCode !== undefined) stdout.push(null);
        return result;
      },
      (error: unknown) => {
        stdout.destroy(error as Error);
        throw error;
      },
    );
    return { stdout, done };
  }

  async #ask(
    { signal, ...command }: LaunchRequest,
    { take, onSent }: StreamReader = {},
  ): Promise<LaunchResult | 'unsent'> {
    const child = (this.#process ??= this.#start());
    // Node could not start it, for example because too many files are open, and reports that later.
    if (child.pid === undefined) {
      this.#process = undefined;
      return 'unsent';
    }
    const id = ++this.#last;
    const send = (message: object) => void (child.connected && child.send({ id, ...message }, () => undefined));
    const abort = () => send({ abort: true });
    signal?.addEventListener('abort', abort, { once: true });
    const result = await new Promise<LaunchResult | 'unsent'>((resolve) => {
      this.#waiting.set(id, { child, resolve, take });
      child.ref();
      child.channel?.ref();
      child.send({ id, ...command }, (error) => {
        if (error === null) return;
        if (this.#process === child) this.#process = undefined;
        this.#finish(id, 'unsent');
      });
      onSent?.(send);
    });
    signal?.removeEventListener('abort', abort);
    return result;
  }

  /** Ends the process after the commands that still run. */
  close(): void {
    this.#isClosed = true;
    this.#unrefIfIdle();
  }

  #start(): Runner {
    const child: Runner = this.#startRunner(
      ({ id, chunk, result }) => {
        if (chunk !== undefined) this.#waiting.get(id)?.take?.(chunk);
        if (result !== undefined) this.#finish(id, result);
      },
      (why) => {
        if (this.#process === child) this.#process = undefined;
        for (const [id, waiting] of this.#waiting) if (waiting.child === child) this.#finish(id, failedToRun(why));
      },
    );
    return child;
  }

  #finish(id: number, result: LaunchResult | 'unsent'): void {
    this.#waiting.get(id)?.resolve(result);
    this.#waiting.delete(id);
    this.#unrefIfIdle();
  }

  /** Without commands, the process does not keep this one alive. */
  #unrefIfIdle(): void {
    if (this.#waiting.size > 0) return;
    this.#process?.unref();
    this.#process?.channel?.unref();
    if (this.#isClosed && this.#process?.connected === true) this.#process.disconnect();
  }
}

function failedToRun(why: string): LaunchResult {
  return { ...NOT_ENDED, stderr: Buffer.from(`error: ${why}`) };
}

const startProcess: StartRunner = (receive, end) => {
  const child = fork(fileURLToPath(new URL('./launch.mjs', import.meta.url)), {
    // Own process group, so that Ctrl-C in the terminal reaches only halo.
    detached: true,
    cwd: '/',
    execArgv: [],
    serialization: 'advanced',
    stdio: ['ignore', 'ignore', 'ignore', 'ipc'],
  });
  child.on('message', receive);
  child.once('error', (error) => end(error.message));
  child.once('exit', () => end('the process that runs git has ended'));
  return child;
};

/** Runs commands as children of this process: for one that is small itself, or runs few. */
export const startHere: StartRunner = (receive) => {
  const { handle, stopAll } = createRunner(receive);
  process.once('exit', stopAll);
  return {
    pid: process.pid,
    connected: true,
    channel: null,
    ref: () => undefined,
    unref: () => undefined,
    disconnect: () => undefined,
    send: (message, done) => {
      handle(message);
      done(null);
    },
  };
};
