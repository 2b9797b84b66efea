import { Writable } from 'node:stream';
import { writeAhead, WRITE_AHEAD_BYTES } from '../streams.ts';
import type { Masker } from './masker.ts';

/** A sink that masks secrets and writes to another sink, which it ends or destroys together with itself. */
export function maskingSink(masker: Masker, sink: Writable): Writable {
  const cleaner = masker.cleaner();
  const pass = (bytes: Buffer, done: (error?: Error | null) => void) => {
    if (bytes.length === 0) done();
    else writeAhead(sink, bytes, done);
  };
  const masked = new Writable({
    highWaterMark: WRITE_AHEAD_BYTES,
    write: (chunk: Buffer, _encoding, done) => pass(cleaner.push(chunk), done),
    final: (done) =>
      pass(cleaner.end(), (error) => {
        if (error) done(error);
        else sink.end(done);
      }),
    destroy: (error, done) => {
      sink.destroy();
      done(error);
    },
  });
  sink.on('error', (error) => masked.destroy(error));
  return masked;
}
