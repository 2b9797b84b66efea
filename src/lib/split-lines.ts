import { Writable } from 'node:stream';
import { StringDecoder } from 'node:string_decoder';
import { gatherBytes } from './gather-bytes.ts';

const NEWLINE = 0x0a;

/** A longer line is handed on in parts, which no reader of lines will understand, but which keeps memory bounded. */
const LONGEST_LINE = 8 * 1024 * 1024;

/**
 * A sink that passes bytes on to `keep` unchanged and hands the whole lines of each chunk, without their ends, to
 * `onLines`; a slow `onLines` or `keep` holds the writer back. A last line without an end counts.
 */
export function splitLines(options: { keep: Writable; onLines: (lines: string[]) => Promise<void> }): Writable {
  const { keep, onLines } = options;
  const decoder = new StringDecoder('utf8');
  const rest = gatherBytes();
  /** Whole lines alone are looked at, so that a long one is not searched again and again while it grows. */
  const handOn = async (chunk: Buffer) => {
    const cut = chunk.lastIndexOf(NEWLINE) + 1;
    const whole = rest.length() + chunk.length > LONGEST_LINE ? chunk.length : cut;
    rest.add(chunk.subarray(0, whole));
    const text = whole === 0 ? '' : decoder.write(rest.take());
    rest.add(chunk.subarray(whole));
    if (text === '') return;
    const lines = text.split('\n');
    if (lines.at(-1) === '') lines.pop();
    await onLines(lines);
  };
  return new Writable({
    write(chunk: Buffer, _encoding, done) {
      keep.write(chunk, (error) => {
        if (error) done(error);
        else handOn(chunk).then(() => done(), done);
      });
    },
    final(done) {
      const last = decoder.write(rest.take()) + decoder.end();
      const handed = last === '' ? Promise.resolve() : onLines([last]);
      handed.then(() => keep.end(done), done);
    },
    destroy(error, done) {
      keep.destroy();
      done(error);
    },
  });
}
