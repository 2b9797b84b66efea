import { Transform } from 'node:stream';

/** Passes bytes on and tells of them; fails when there are more than `most`. */
export function capBytes(most: number, carried: (bytes: number) => void): Transform {
  let bytes = 0;
  return new Transform({
    transform(chunk: Buffer, _encoding, done) {
      bytes += chunk.length;
      carried(chunk.length);
      done(bytes > most ? new Error(`more than ${most} bytes`) : null, chunk);
    },
  });
}
