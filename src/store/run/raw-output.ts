import { open, type FileHandle } from 'node:fs/promises';
import { dirname } from 'node:path';
import type { Writable } from 'node:stream';
import { createFolders } from '../../lib/fs.ts';
import { batchingSink, createByteBuffer } from '../../lib/streams.ts';
import { toDiskError } from '../disk-errors.ts';

const NEWLINE = 0x0a;
/** A longer line is written in parts. */
const MAX_LINE_BYTES = 4 * 1024 * 1024;
/**
 * After such an amount, the disk stores what is written so far. Otherwise the next process that waits for the disk would
 * wait for the whole output: Docker, which then reports the end of a container seconds later.
 */
const SYNC_BYTES = 32 * 1024 * 1024;

interface RawPaths {
  /** The file of the attempt. */
  own: string;
  /** The file of the run. */
  shared: string;
}

/**
 * Opens a stream that writes an agent's output to two files: byte for byte to `own`, and line by line to the end of
 * `shared`. It fails with DISK_FAILED, and with the error of `mayWrite`, which is called first.
 */
export function openRawOutput(paths: RawPaths, mayWrite?: () => Promise<void>): Writable {
  return batchingSink(new RawOutput(paths, mayWrite), (error) => toDiskError(paths.own, error) as Error);
}

class RawOutput {
  readonly #paths: RawPaths;
  readonly #mayWrite: (() => Promise<void>) | undefined;
  #files: { own: FileHandle; shared: FileHandle } | undefined;
  /** A line that has only begun. */
  readonly #line = createByteBuffer();
  #unsynced = 0;
  #syncing: Promise<void> | undefined;
  #syncError: unknown;

  constructor(paths: RawPaths, mayWrite: (() => Promise<void>) | undefined) {
    this.#paths = paths;
    this.#mayWrite = mayWrite;
  }

  async write(chunks: Buffer[]): Promise<void> {
    this.#files ??= await this.#open();
    const lines = chunks.flatMap((chunk) => this.#takeLines(chunk));
    await all([writeAll(this.#files.own, chunks), writeAll(this.#files.shared, lines)]);
    if (this.#syncError !== undefined) throw this.#syncError as Error;
    this.#unsynced += sizeOf(chunks);
    if (this.#unsynced >= SYNC_BYTES) this.#syncing ??= this.#sync();
  }

  async end(): Promise<void> {
    if (this.#line.length() > 0) {
      this.#line.add(Buffer.from('\n'));
      await this.#files?.shared.writeFile(this.#line.take());
    }
    await this.#syncing;
    if (this.#syncError !== undefined) throw this.#syncError as Error;
  }

  async close(): Promise<void> {
    await this.#syncing;
    await all([this.#files?.own.close(), this.#files?.shared.close()]);
  }

  async #open(): Promise<{ own: FileHandle; shared: FileHandle }> {
    const { own, shared } = this.#paths;
    await this.#mayWrite?.();
    await createFolders(dirname(own), 0o700);
    return { own: await open(own, 'a', 0o600), shared: await open(shared, 'a', 0o600) };
  }

  /** The complete lines in a chunk and before it. */
  #takeLines(chunk: Buffer): Buffer[] {
    const cut = chunk.lastIndexOf(NEWLINE) + 1;
    const whole = this.#line.length() + chunk.length > MAX_LINE_BYTES ? chunk.length : cut;
    const lines = whole === 0 ? [] : [this.#line.take(), chunk.subarray(0, whole)];
    this.#line.add(chunk.subarray(whole));
    return lines;
  }

  async #sync(): Promise<void> {
    this.#unsynced = 0;
    await all([this.#files?.own.datasync(), this.#files?.shared.datasync()]).catch((error: unknown) => {
      this.#syncError ??= error;
    });
    this.#syncing = undefined;
  }
}

/** Waits until all have settled, so that no file is closed while it is used. Throws the first error. */
async function all(steps: (Promise<void> | undefined)[]): Promise<void> {
  const settled = await Promise.allSettled(steps.filter((step) => step !== undefined));
  for (const each of settled) if (each.status === 'rejected') throw each.reason;
}

/** Writes chunks at the end of a file. */
async function writeAll(file: FileHandle, chunks: Buffer[]): Promise<void> {
  if (chunks.length === 0) return;
  const { bytesWritten } = await file.writev(chunks);
  if (bytesWritten < sizeOf(chunks)) await file.writeFile(Buffer.concat(chunks).subarray(bytesWritten));
}

function sizeOf(chunks: readonly Buffer[]): number {
  return chunks.reduce((sum, { length }) => sum + length, 0);
}
