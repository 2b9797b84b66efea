import { Writable } from 'node:stream';
import { StringDecoder } from 'node:string_decoder';

/** A longer line is handed on in parts, which no reader of lines will understand, but which keeps memory bounded. */
const LONGEST_LINE = 8 * 1024 * 1024;

/**
 * A sink that passes bytes on to `keep` unchanged and hands the whole lines of each chunk, without their ends, to
 * `onLines`; a slow `onLines` or `keep` holds the writer back. A last line without an end counts.
 */
export function splitLines(options: { keep: Writable; onLines: (lines: string[]) => Promise<void> }): Writable {
  const { keep, onLines } = options;
  const decoder = new StringDecoder('utf8');
  let rest = '';
  const handOn = async (text: string, last: boolean) => {
    const lines = (rest + text).split('\n');
    rest = lines.pop() ?? '';
    if (rest !== '' && (last || rest.length > LONGEST_LINE)) {
      lines.push(rest);
      rest = '';
    }
    if (lines.length > 0) await onLines(lines);
  };
  return new Writable({
    write(chunk: Buffer, _encoding, done) {
      keep.write(chunk, (error) => {
        if (error) done(error);
        else handOn(decoder.write(chunk), false).then(() => done(), done);
      });
    },
    final(done) {
      handOn(decoder.end(), true).then(() => keep.end(done), done);
    },
    destroy(error, done) {
      keep.destroy();
      done(error);
    },
  });
}
