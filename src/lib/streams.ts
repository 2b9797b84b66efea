import { Readable, Writable } from 'node:stream';
import { ignore } from './async.ts';

/** A growing buffer. Unlike an array of chunks it needs little memory for many tiny chunks. */
interface ByteBuffer {
  add(piece: Uint8Array): void;
  length(): number;
  /** Returns all bytes and empties the buffer. */
  take(): Buffer;
  /** Returns all bytes and those of `piece`, which is not copied if there are no others. */
  takeWith(piece: Buffer): Buffer;
}

export function createByteBuffer(): ByteBuffer {
  let room = Buffer.alloc(0);
  let length = 0;
  const buffer: ByteBuffer = {
    length: () => length,
    add(piece) {
      if (piece.length === 0) return;
      if (length + piece.length > room.length) {
        const larger = Buffer.allocUnsafe(2 * (length + piece.length));
        room.copy(larger, 0, 0, length);
        room = larger;
      }
      room.set(piece, length);
      length += piece.length;
    },
    take() {
      const all = room.subarray(0, length);
      room = Buffer.alloc(0);
      length = 0;
      return all;
    },
    takeWith(piece) {
      if (length === 0) return piece;
      buffer.add(piece);
      return buffer.take();
    },
  };
  return buffer;
}

/** Joins buffers, without a copy if they follow each other in memory. The result shares it with them: change none of them. */
export function joinBuffers(pieces: readonly Buffer[]): Buffer {
  const [first = Buffer.alloc(0)] = pieces;
  let end = first.byteOffset;
  for (const { buffer, byteOffset, length } of pieces) {
    if (buffer !== first.buffer || byteOffset !== end) return Buffer.concat(pieces);
    end += length;
  }
  return Buffer.from(first.buffer, first.byteOffset, end - first.byteOffset);
}

/** A stream of texts, and then of what `rest` has. An error of `rest` is its error. */
export function streamOf(texts: readonly string[], rest: Readable): Readable {
  return Readable.from(concat(texts, rest), { objectMode: false });
}

async function* concat(texts: readonly string[], rest: Readable): AsyncGenerator<Buffer> {
  for (const text of texts) if (text !== '') yield Buffer.from(text);
  for await (const chunk of rest) yield chunk as Buffer;
}

/** How much a sink for large output may hold while what was written before is still on its way. */
export const WRITE_AHEAD_BYTES = 1024 * 1024;

/**
 * Writes to a sink without waiting until the bytes have arrived, unless its buffer is full. The sink's `error` event
 * reports a later failure.
 */
export function writeAhead(sink: Writable, bytes: Buffer, done: (error?: Error | null) => void): void {
  let isDone = false;
  const once = (error?: Error | null) => {
    if (isDone) return;
    isDone = true;
    done(error);
  };
  if (sink.write(bytes, once)) once();
}

/** The parts of a sink that writes to files. They may throw. */
interface BatchTarget {
  write(chunks: Buffer[]): Promise<void>;
  /** Called when all is written. */
  end?(): Promise<void>;
  /** Called last, also after an error. */
  close(): Promise<void>;
}

/** A batch of this size is complete. */
const BATCH_BYTES = 512 * 1024;
/** How long a smaller batch waits for more. */
const BATCH_MS = 10;

/**
 * A sink that writes small chunks together, because starting a write takes longer than copying a chunk, and one batch
 * after the other. `toError` makes the error of the sink from what the target throws.
 */
export function batchingSink(target: BatchTarget, toError: (error: unknown) => Error): Writable {
  let batch: Buffer[] = [];
  let size = 0;
  let timer: NodeJS.Timeout | undefined;
  let writing = Promise.resolve();
  const flush = (): Promise<void> => {
    clearTimeout(timer);
    timer = undefined;
    // While a batch is written, the next one grows.
    writing = writing.then(() => {
      const chunks = batch;
      batch = [];
      size = 0;
      return chunks.length === 0 ? undefined : target.write(chunks);
    });
    return writing;
  };
  const settle = (promise: Promise<void>, done: (error?: Error) => void) =>
    void promise.then(
      () => done(),
      (error: unknown) => done(toError(error)),
    );
  return new Writable({
    highWaterMark: WRITE_AHEAD_BYTES,
    write(chunk: Buffer, _encoding, done) {
      batch.push(chunk);
      size += chunk.length;
      if (size >= BATCH_BYTES) return settle(flush(), done);
      timer ??= setTimeout(() => settle(flush(), (error) => error && this.destroy(error)), BATCH_MS);
      done();
    },
    final: (done) =>
      settle(
        flush().then(() => target.end?.()),
        done,
      ),
    destroy: (error, done) =>
      settle(
        flush()
          .catch(ignore)
          .then(() => target.close()),
        (failed) => done(error ?? failed),
      ),
  });
}

/** A sink that discards everything. */
export function discardSink(): Writable {
  return new Writable({ write: (_chunk, _encoding, done) => done() });
}

/** A sink that keeps the last `maxBytes` bytes as text; `missing` is the number of bytes before them. */
export function tailSink(maxBytes: number): { sink: Writable; text: () => string; missing: () => number } {
  let chunks: Buffer[] = [];
  let size = 0;
  let total = 0;
  const sink = new Writable({
    write(chunk: Buffer, _encoding, done) {
      chunks.push(chunk);
      size += chunk.length;
      total += chunk.length;
      if (size > 2 * maxBytes + 65_536) {
        chunks = [Buffer.concat(chunks).subarray(-maxBytes)];
        size = chunks[0]!.length;
      }
      done();
    },
  });
  return {
    sink,
    text: () => Buffer.concat(chunks).subarray(-maxBytes).toString('utf8'),
    missing: () => Math.max(0, total - maxBytes),
  };
}
