import { Writable } from 'node:stream';

/** A sink that takes everything and keeps nothing. */
export function discard(): Writable {
  return new Writable({ write: (_chunk, _encoding, done) => done() });
}

/** A sink that keeps the last `maxBytes` as text, and counts the bytes before them. */
export function collectText(maxBytes: number): { sink: Writable; text: () => string; missing: () => number } {
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
