import type { Readable, Writable } from 'node:stream';

const HEADER_BYTES = 8;
const STDERR = 2;

/** Output of one stream; never more than one chunk of the socket. */
export interface OutputChunk {
  from: 'stdout' | 'stderr';
  bytes: Buffer;
}

/**
 * Splits the engine's attach stream (frames with an 8-byte header: type, 3 zero bytes, big-endian length) into chunks of
 * output. Not `docker.modem.demuxStream`: that ignores back-pressure and broken frames. Does not buffer whole frames, and
 * joins small adjacent ones. A slow consumer slows the sandbox down. Throws when the stream ends inside a frame.
 */
export async function* splitFrames(source: Readable): AsyncGenerator<OutputChunk, void, void> {
  const header = Buffer.alloc(HEADER_BYTES);
  let headerBytes = 0;
  let left = 0;
  for await (const chunk of source as AsyncIterable<Buffer>) {
    const pieces: OutputChunk[] = [];
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
    yield* joinChunks(pieces);
  }
  if (left > 0 || headerBytes > 0) throw new Error('the output stream ended inside a frame');
}

/** Joins adjacent chunks of the same stream. */
function joinChunks(pieces: OutputChunk[]): OutputChunk[] {
  const joined: { from: OutputChunk['from']; parts: Buffer[] }[] = [];
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
 * Writes output to two sinks with back-pressure, and ends both. Drops chunks for which `keep` returns false and chunks for
 * a destroyed sink. Throws when a sink fails.
 */
export async function writeOutput(
  pieces: AsyncGenerator<OutputChunk, void, void>,
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
