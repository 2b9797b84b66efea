import { fstatSync } from 'node:fs';
import { open, rm, type FileHandle } from 'node:fs/promises';
import { dirname } from 'node:path';
import type { Writable } from 'node:stream';
import { HaloError } from '../../core/failure/errors.ts';
import { createFolders, writeAtomic } from '../../lib/fs.ts';
import { batchingSink, createByteBuffer } from '../../lib/streams.ts';
import { toDiskError } from '../disk-errors.ts';
import { addRange, MAX_RANGES, type ByteRange } from './output-ranges.ts';
import { formatPlace, PLACED, readPlace } from './stored-file.ts';

const NEWLINE = 0x0a;
/** A longer line is written and passed on in parts. */
const MAX_LINE_BYTES = 8 * 1024 * 1024;
/**
 * After such an amount, the disk stores what is written so far. Otherwise the next process that waits for the disk would
 * wait for the whole output: Docker, which then reports the end of a container seconds later.
 */
const STORE_BYTES = 32 * 1024 * 1024;
/** How often the place of less output is written. */
const PLACE_MS = 1_000;
const MAX_PLACE_MS = 10_000;
/** Linux writes more buffers in several steps, between which other processes may write. */
const MAX_BUFFERS = 1_000;

/**
 * Receives complete lines of UTF-8, in order; only the last one, and parts of a line above 8 MiB, have no line end. Output
 * waits until it resolves.
 */
export type OnLines = (lines: readonly Buffer[]) => Promise<void>;

interface RawOutputOptions {
  /** The file of the attempt. */
  own: string;
  /** The file of the run. */
  shared: string;
  /** Called before anything is written. */
  mayWrite?: (() => Promise<void>) | undefined;
  /** The disk stores the output after such an amount, in bytes. */
  storeBytes?: number | undefined;
  /** Not called after the stream was destroyed. */
  onLines?: OnLines | undefined;
}

/**
 * Opens a stream that writes an agent's output to two files: byte for byte to `own`, and line by line to the end of
 * `shared`. Once it is large, only its place in `shared` is kept, in `<own>.ranges`, so that the disk writes it once. It
 * fails with DISK_FAILED, and with the errors of `mayWrite` and `onLines`.
 */
export function openRawOutput({ onLines, ...options }: RawOutputOptions): Writable {
  const passOn: OnLines = async (lines) => (sink.destroyed ? undefined : onLines?.(lines));
  const output = new RawOutput({ ...options, onLines: passOn });
  const sink: Writable = batchingSink(output, (error) => toDiskError(options.own, error) as Error);
  return sink;
}

class RawOutput {
  readonly #options: RawOutputOptions;
  #shared: FileHandle | undefined;
  /** Undefined once only the place of the output is kept. */
  #own: FileHandle | undefined;
  /** The place of the output in the file of the run; undefined if it is not known. */
  #ranges: ByteRange[] | undefined;
  /** A line that has only begun. */
  readonly #line = createByteBuffer();
  /** The size of the attempt's file if only this stream writes to it. */
  #ownBytes = 0;
  /** What was written to the file of the run since the disk was asked to store it. */
  #unstored = 0;
  #storing: Promise<void> | undefined;
  #storeError: unknown;
  #timer: NodeJS.Timeout | undefined;

  constructor(options: RawOutputOptions) {
    this.#options = options;
  }

  async write(chunks: Buffer[]): Promise<void> {
    const shared = (this.#shared ??= await this.#open());
    const lines = chunks.flatMap((chunk) => this.#takeLines(chunk));
    this.#ownBytes += sizeOf(chunks);
    await all([this.#own && writeAll(this.#own, chunks), this.#append(shared, lines), this.#options.onLines?.(lines)]);
    if (this.#storeError !== undefined) throw this.#storeError as Error;
    this.#scheduleStoring();
  }

  async end(): Promise<void> {
    if (this.#shared !== undefined && this.#line.length() > 0) {
      const last = this.#line.take();
      await all([this.#append(this.#shared, [last, Buffer.from('\n')], last.length), this.#options.onLines?.([last])]);
    }
    await this.#storing;
    if (this.#isPlaced() && this.#unstored > 0 && this.#storeError === undefined) this.#startStoring();
    await this.#storing;
    if (this.#storeError !== undefined) throw this.#storeError as Error;
  }

  async close(): Promise<void> {
    try {
      await this.end();
    } finally {
      clearTimeout(this.#timer);
      await all([this.#own?.close(), this.#shared?.close()]);
    }
  }

  async #open(): Promise<FileHandle> {
    const { own, shared, mayWrite } = this.#options;
    await mayWrite?.();
    await createFolders(dirname(own), 0o700);
    // Several agents of an attempt may write to it, one after the other.
    this.#ranges = await readPlace(`${own}${PLACED}`);
    // A worker may have died before it removed it.
    if (this.#ranges !== undefined) await rm(own, { force: true });
    else {
      this.#own = await open(own, 'a', 0o600);
      if ((await this.#own.stat()).size === 0) this.#ranges = [];
    }
    return open(shared, 'a+', 0o600);
  }

  /** Whether only the place of the output is kept. */
  #isPlaced(): boolean {
    return this.#shared !== undefined && this.#own === undefined;
  }

  /** The complete lines in a chunk and before it. */
  #takeLines(chunk: Buffer): Buffer[] {
    const cut = chunk.lastIndexOf(NEWLINE) + 1;
    const isTooLong = cut === 0 && this.#line.length() + chunk.length > MAX_LINE_BYTES;
    const whole = isTooLong ? chunk.length : cut;
    const lines = whole === 0 ? [] : [this.#line.takeWith(chunk.subarray(0, whole))];
    this.#line.add(chunk.subarray(whole));
    return lines;
  }

  /** Writes lines to the file of the run; the first `size` bytes are output of the agent. */
  async #append(shared: FileHandle, lines: Buffer[], size = sizeOf(lines)): Promise<void> {
    const ranges = await append(shared, lines);
    if (ranges === undefined && this.#isPlaced())
      throw new HaloError('DISK_FAILED', `Another program changed ${this.#options.shared}.`, {
        hint: 'Do not change the files of a run while it is running.',
      });
    if (ranges === undefined) this.#ranges = undefined;
    this.#unstored += size;
    let left = size;
    for (const [from, to] of ranges ?? []) {
      if (left > 0 && this.#ranges !== undefined) addRange(this.#ranges, [from, Math.min(to, from + left)]);
      left -= to - from;
    }
  }

  #scheduleStoring(): void {
    if (this.#unstored >= (this.#options.storeBytes ?? STORE_BYTES)) this.#startStoring();
    // A longer list of ranges is written less often.
    else if (this.#isPlaced() && this.#unstored > 0)
      this.#timer ??= setTimeout(() => this.#startStoring(), this.#placeMs());
  }

  #placeMs(): number {
    return Math.min(Math.max(PLACE_MS, this.#ranges?.length ?? 0), MAX_PLACE_MS);
  }

  #startStoring(): void {
    clearTimeout(this.#timer);
    this.#timer = undefined;
    this.#storing ??= this.#store().then(
      () => {
        this.#storing = undefined;
        this.#scheduleStoring();
      },
      (error: unknown) => {
        this.#storing = undefined;
        this.#storeError = error;
      },
    );
  }

  /** Stores what is written so far, and then where it is: after a power cut, no range may name bytes of other output. */
  async #store(): Promise<void> {
    const own = this.#own;
    if (own !== undefined && (this.#ranges?.length ?? 0) > MAX_RANGES) this.#ranges = undefined;
    // Another worker has taken over the attempt, and also writes to its file.
    if (own !== undefined && fstatSync(own.fd).size !== this.#ownBytes) this.#ranges = undefined;
    const place = this.#ranges && formatPlace(this.#ranges);
    this.#unstored = 0;
    if (place === undefined) return all([own?.datasync(), this.#shared?.datasync()]);
    this.#own = undefined;
    try {
      await this.#shared?.datasync();
      await this.#options.mayWrite?.();
      await writeAtomic(`${this.#options.own}${PLACED}`, place, true);
      if (own !== undefined) await rm(this.#options.own, { force: true });
    } finally {
      await own?.close();
    }
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

/**
 * Writes chunks at the end of a file to which other processes append too. Returns where they are; undefined if they are
 * not found, because another program cut the file.
 */
async function append(file: FileHandle, chunks: Buffer[]): Promise<ByteRange[] | undefined> {
  const ranges: ByteRange[] = [];
  let isKnown = true;
  for (let rest = chunks.length > MAX_BUFFERS ? [Buffer.concat(chunks)] : chunks; sizeOf(rest) > 0;) {
    // The size of an open file is known without waiting, unlike a call in another thread.
    const before = fstatSync(file.fd).size;
    const { bytesWritten } = await file.writev(rest);
    const after = fstatSync(file.fd).size;
    const isAlone = after - before === bytesWritten;
    const from = isAlone
      ? before
      : await findBytes(file, [before, after], Buffer.concat(rest).subarray(0, bytesWritten));
    if (from === undefined) isKnown = false;
    else ranges.push([from, from + bytesWritten]);
    rest = bytesWritten === sizeOf(rest) ? [] : [Buffer.concat(rest).subarray(bytesWritten)];
  }
  return isKnown ? ranges : undefined;
}

/** The offset of bytes within a part of a file. Equal bytes elsewhere in it are as good. */
async function findBytes(file: FileHandle, [from, to]: ByteRange, bytes: Buffer): Promise<number | undefined> {
  const part = Buffer.alloc(Math.max(0, to - from));
  const { bytesRead } = await file.read(part, 0, part.length, from);
  const at = part.subarray(0, bytesRead).indexOf(bytes);
  return at < 0 ? undefined : from + at;
}

function sizeOf(chunks: readonly Buffer[]): number {
  return chunks.reduce((sum, { length }) => sum + length, 0);
}
