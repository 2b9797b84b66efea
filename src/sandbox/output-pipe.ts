import { closeSync, constants, openSync } from 'node:fs';
import { Socket } from 'node:net';
import { execa } from 'execa';
import { HaloError } from '../core/failure/errors.ts';
import { ignore } from '../lib/async.ts';

/** Users of sandboxes may write to it, but not read what others write. */
const MODE = '622';
const OPEN = constants.O_NONBLOCK | constants.O_NOFOLLOW;

/** Creates a named pipe at `path`, whose folder exists. Throws DISK_FAILED. */
export async function makeOutputPipe(path: string): Promise<void> {
  await execa('mkfifo', ['-m', MODE, '--', path]).catch((error: unknown) => {
    throw new HaloError('DISK_FAILED', `The named pipe ${path} cannot be created.`, { cause: error });
  });
}

/** The reading end of a pipe that a sandbox writes to. */
export interface PipeReader {
  /** Ends when the sandbox has ended and everything that it wrote has been read. */
  chunks: AsyncIterable<Buffer>;
  /** Call it when the sandbox has ended. Safe to repeat. */
  release(): void;
  /** Closes the pipe. Safe to repeat. */
  destroy(): void;
}

/** Opens a pipe on the host. From now on, a sandbox can open it for writing. Throws DISK_FAILED. */
export function openPipeReader(path: string): PipeReader {
  const [reading, writing] = openBoth(path);
  const socket = new Socket({ fd: reading, readable: true, writable: false });
  // `chunks` reports it.
  socket.on('error', ignore);
  let isReleased = false;
  const release = () => {
    if (!isReleased) closeSync(writing);
    isReleased = true;
  };
  const destroy = () => {
    release();
    socket.destroy();
  };
  return { chunks: socket as AsyncIterable<Buffer>, release, destroy };
}

/** Also for writing: a pipe without a writer is at its end. */
function openBoth(path: string): [number, number] {
  let reading: number | undefined;
  try {
    reading = openSync(path, constants.O_RDONLY | OPEN);
    return [reading, openSync(path, constants.O_WRONLY | OPEN)];
  } catch (error) {
    if (reading !== undefined) closeSync(reading);
    throw new HaloError('DISK_FAILED', `The named pipe ${path} cannot be opened.`, { cause: error });
  }
}
