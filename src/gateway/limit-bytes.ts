import { Transform } from 'node:stream';

/** Passes bytes through and reports their number to `onBytes`. Fails after more than `maxBytes`. */
export function createByteLimiter(maxBytes: number, onBytes: (bytes: number) => void): Transform {
  let bytes = 0;
  return new Transform({
    transform(chunk: Buffer, _encoding, done) {
      bytes += chunk.length;
      onBytes(chunk.length);
      done(bytes > maxBytes ? new Error(`more than ${maxBytes} bytes`) : null, chunk);
    },
  });
}
