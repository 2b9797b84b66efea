import type { Readable, Writable } from 'node:stream';

const HEADER_BYTES = 8;
const STDERR = 2;

/** A piece of output and the stream it came from; never more than one chunk of the socket. */
export interface Piece {
  from: 'stdout' | 'stderr';
  bytes: Buffer;
}

/**
 * Splits the engine's attach stream (frames with an 8-byte header: type, 3 zero bytes, big-endian length) into pieces.
 * It loops instead of recursing and holds no frame as a whole, however large they are; tiny ones that come together are
 * handed on together. Whoever stops asking slows the sandbox down. Throws when the stream breaks off inside a frame.
 */
export async function* splitFrames(source: Readable): AsyncGenerator<Piece, void, void> {
  const header = Buffer.alloc(HEADER_BYTES);
  let headerBytes = 0;
  let left = 0;
  for await (const chunk of source as AsyncIterable<Buffer>) {
    const pieces: Piece[] = [];
    let at = 0;
    while (at < chunk.length) {
      if (left === 0) {
        const taken = chunk.copy(header, headerBytes, at, at + HEADER_BYTES - headerBytes);
        at += taken;
        headerBytes += taken;
        if (headerBytes === HEADER_BYTES) {
          left = header.readUInt32BE(4);
          headerBytes = 0;
        }
        continue;
      }
      const bytes = chunk.subarray(at, at + left);
      at += bytes.length;
      left -= bytes.length;
      pieces.push({ from: header[0] === STDERR ? 'stderr' : 'stdout', bytes });
    }
    yield* joinPieces(pieces);
  }
  if (left > 0 || headerBytes > 0) throw new Error('the output stream broke off inside a frame');
}

/** Neighbours of the same stream as one. */
function joinPieces(pieces: Piece[]): Piece[] {
  const joined: { from: Piece['from']; parts: Buffer[] }[] = [];
  for (const { from, bytes } of pieces) {
    const last = joined.at(-1);
    if (last?.from === from) last.parts.push(bytes);
    else joined.push({ from, parts: [bytes] });
  }
  return joined.map(({ from, parts: [first = Buffer.alloc(0), ...rest] }) => ({
    from,
    bytes: rest.length === 0 ? first : Buffer.concat([first, ...rest]),
  }));
}

/**
 * Writes further pieces into two sinks, as long as `keep` says so, waiting for a sink that is full, and ends both. What
 * is meant for a sink that was destroyed is dropped; a sink that fails makes it throw.
 */
export async function pump(
  pieces: AsyncGenerator<Piece, void, void>,
  sinks: { stdout: Writable; stderr: Writable },
  keep: (bytes: number) => boolean,
): Promise<void> {
  let failure: Error | undefined;
  const fail = (error: Error) => (failure ??= error);
  sinks.stdout.on('error', fail);
  sinks.stderr.on('error', fail);
  try {
    for await (const { from, bytes } of pieces) {
      if (keep(bytes.length)) await write(sinks[from], bytes);
      if (failure !== undefined) break;
    }
  } finally {
    await Promise.all([end(sinks.stdout), end(sinks.stderr)]);
  }
  if (failure !== undefined) throw failure;
}

async function write(sink: Writable, bytes: Buffer): Promise<void> {
  if (sink.destroyed || sink.writableEnded) return;
  await new Promise<void>((resolve) => {
    if (sink.write(bytes, () => resolve())) resolve();
  });
}

async function end(sink: Writable): Promise<void> {
  if (sink.destroyed || sink.writableFinished) return;
  await new Promise<void>((resolve) => {
    sink.once('close', resolve);
    sink.end(resolve);
  });
}
