import { closeSync, constants, openSync } from 'node:fs';
import { Socket, type OnReadOpts, type SocketConstructorOpts } from 'node:net';
import { execa } from '../lib/execa.ts';
import { findOpenFilesError, HaloError } from '../core/failure/errors.ts';
import { ignore } from '../lib/async.ts';

/** Users of sandboxes may write to it, but not read what others write. */
const MODE = '622';
const OPEN = constants.O_NONBLOCK | constants.O_NOFOLLOW;

type RunProgram = (program: string, args: string[]) => Promise<unknown>;

/** Creates a named pipe at `path`, whose folder exists. `run` runs a program and throws if it fails. Throws DISK_FAILED. */
export async function makeOutputPipe(path: string, run: RunProgram = execa): Promise<void> {
  await run('mkfifo', ['-m', MODE, '--', path]).catch((error: unknown) => {
    throw (
      findOpenFilesError(error) ??
      new HaloError('DISK_FAILED', `The named pipe ${path} cannot be created.`, { cause: error })
    );
  });
}

/** The reading end of a pipe that a sandbox writes to. */
export interface PipeReader {
  /** Ends when the sandbox has ended and everything that it wrote has been read, or when the pipe is closed. */
  chunks: AsyncIterable<Buffer>;
  /** Call it when the sandbox has ended. Safe to repeat. */
  release(): void;
  /** Closes the pipe. Safe to repeat. */
  destroy(): void;
}

/** Opens a pipe on the host. From now on, a sandbox can open it for writing. Throws DISK_FAILED. */
export function openPipeReader(path: string): PipeReader {
  const [reading, writing] = openBoth(path);
  const blocks = new BlockReader(reading);
  let isReleased = false;
  const release = () => {
    if (!isReleased) closeSync(writing);
    isReleased = true;
  };
  const destroy = () => {
    release();
    blocks.destroy();
  };
  return { chunks: blocks.chunks(), release, destroy };
}

const BLOCK_BYTES = 512 * 1024;
/** With less room than that, the next block begins. */
const MIN_READ_BYTES = 64 * 1024;

/** Reads into blocks, so that chunks which follow each other do so in memory too, and are joined without a copy. */
class BlockReader {
  readonly #socket: Socket;
  #block = Buffer.allocUnsafeSlow(0);
  #free = 0;
  #chunks: Buffer[] = [];
  /** The size of the chunks that wait for the consumer. */
  #waiting = 0;
  #isClosed = false;
  #error: Error | undefined;
  #wake: () => void = ignore;

  constructor(fd: number) {
    const onread = { buffer: () => this.#room(), callback: (bytes: number) => this.#take(bytes) };
    // `onread` is missing in the types of this constructor: https://nodejs.org/docs/latest-v20.x/api/net.html#new-netsocketoptions
    const options: SocketConstructorOpts & { onread: OnReadOpts } = { fd, readable: true, writable: false, onread };
    this.#socket = new Socket(options);
    this.#socket.on('error', (error) => (this.#error = error));
    this.#socket.on('close', () => {
      this.#isClosed = true;
      this.#wake();
    });
  }

  async *chunks(): AsyncGenerator<Buffer, void, void> {
    for (;;) {
      this.#waiting = 0;
      yield* this.#chunks.splice(0);
      if (this.#chunks.length > 0) continue;
      if (this.#error !== undefined) throw this.#error;
      if (this.#isClosed) return;
      this.#socket.resume();
      await new Promise<void>((resolve) => (this.#wake = resolve));
    }
  }

  destroy(): void {
    this.#socket.destroy();
  }

  #room(): Buffer {
    if (this.#block.length - this.#free < MIN_READ_BYTES) {
      this.#block = Buffer.allocUnsafeSlow(BLOCK_BYTES);
      this.#free = 0;
    }
    return this.#block.subarray(this.#free);
  }

  /** Whether to continue without waiting for the consumer. */
  #take(bytes: number): boolean {
    this.#chunks.push(this.#block.subarray(this.#free, this.#free + bytes));
    this.#free += bytes;
    this.#waiting += bytes;
    this.#wake();
    return this.#waiting < BLOCK_BYTES;
  }
}

/** Also for writing: a pipe without a writer is at its end. */
function openBoth(path: string): [number, number] {
  let reading: number | undefined;
  try {
    reading = openSync(path, constants.O_RDONLY | OPEN);
    return [reading, openSync(path, constants.O_WRONLY | OPEN)];
  } catch (error) {
    if (reading !== undefined) closeSync(reading);
    const reason = new HaloError('DISK_FAILED', `The named pipe ${path} cannot be opened.`, { cause: error });
    throw findOpenFilesError(error) ?? reason;
  }
}
