import { fork, type ChildProcess } from 'node:child_process';
import { fileURLToPath } from 'node:url';
import { HaloError } from '../../core/failure/errors.ts';

/** A command that runs to its end. */
interface LaunchRequest {
  command: readonly string[];
  options: LaunchOptions;
  input: string | Uint8Array | undefined;
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
}

/** What execa returns for a command, as far as it is used. */
interface LaunchResult {
  /** Undefined if a signal ended it, or if it could not be started. */
  exitCode?: number | undefined;
  stdout?: Uint8Array | undefined;
  stderr?: Uint8Array | undefined;
  timedOut: boolean;
  isMaxBuffer: boolean;
  isCanceled: boolean;
}

const NOT_ENDED = { timedOut: false, isMaxBuffer: false, isCanceled: false };

/**
 * Runs commands in a small process. The system copies the page tables of the process that starts another one: in a worker
 * with 200 MiB of memory, this takes ten times as long, and nothing else happens meanwhile. The process starts with the
 * first command and ends with this one.
 */
export class Launcher {
  readonly #waiting = new Map<number, { child: ChildProcess; resolve: (result: LaunchResult | 'unsent') => void }>();
  #process: ChildProcess | undefined;
  #last = 0;
  #isClosed = false;

  /** Throws DISK_FAILED if its process cannot be started, and nothing else: see `LaunchResult`. */
  async run({ signal, ...command }: LaunchRequest): Promise<LaunchResult> {
    if (signal?.aborted) return { ...NOT_ENDED, isCanceled: true };
    const first = await this.#ask(command, signal);
    // The process was killed before it could receive the command.
    const result = first === 'unsent' ? await this.#ask(command, signal) : first;
    if (result !== 'unsent') return result;
    throw new HaloError('DISK_FAILED', 'The process that runs git cannot be started.', {
      hint: 'Raise the limits of open files and processes (ulimit -n, ulimit -u).',
    });
  }

  async #ask(
    command: Omit<LaunchRequest, 'signal'>,
    signal: AbortSignal | undefined,
  ): Promise<LaunchResult | 'unsent'> {
    const child = (this.#process ??= this.#start());
    // Node could not start it, for example because too many files are open, and reports that later.
    if (child.pid === undefined) {
      this.#process = undefined;
      return 'unsent';
    }
    const id = ++this.#last;
    const abort = () => void (child.connected && child.send({ id, abort: true }, () => undefined));
    signal?.addEventListener('abort', abort, { once: true });
    const result = await new Promise<LaunchResult | 'unsent'>((resolve) => {
      this.#waiting.set(id, { child, resolve });
      child.ref();
      child.channel?.ref();
      child.send({ id, ...command }, (error) => {
        if (error === null) return;
        if (this.#process === child) this.#process = undefined;
        this.#finish(id, 'unsent');
      });
    });
    signal?.removeEventListener('abort', abort);
    return result;
  }

  /** Ends the process after the commands that still run. */
  close(): void {
    this.#isClosed = true;
    this.#unrefIfIdle();
  }

  #start(): ChildProcess {
    const child = fork(fileURLToPath(new URL('./launch.mjs', import.meta.url)), {
      // Own process group, so that Ctrl-C in the terminal reaches only halo.
      detached: true,
      cwd: '/',
      execArgv: [],
      serialization: 'advanced',
      stdio: ['ignore', 'ignore', 'ignore', 'ipc'],
    });
    child.on('message', ({ id, result }: { id: number; result: LaunchResult }) => this.#finish(id, result));
    const end = (why: string) => {
      if (this.#process === child) this.#process = undefined;
      for (const [id, waiting] of this.#waiting) if (waiting.child === child) this.#finish(id, failedToRun(why));
    };
    child.once('error', (error) => end(error.message));
    child.once('exit', () => end('the process that runs git has ended'));
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
