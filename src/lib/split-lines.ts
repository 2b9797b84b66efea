import { Writable } from 'node:stream';
import { StringDecoder } from 'node:string_decoder';

/** A longer line is handed on in parts, which no reader of lines will understand, but which keeps memory bounded. */
const LONGEST_LINE = 8 * 1024 * 1024;

/**
 * A sink that passes bytes on to `keep` unchanged and hands each whole line, without its end, to `onLine`,
 * one after the other; a slow `onLine` or `keep` holds the writer back. A last line without an end counts.
 */
export function splitLines({ keep, onLine }: { keep: Writable; onLine: (line: string) => Promise<void> }): Writable {
  const decoder = new StringDecoder('utf8');
  let rest = '';
  const handOn = async (text: string, last: boolean) => {
    const lines = (rest + text).split('\n');
    rest = lines.pop() ?? '';
    if (rest !== '' && (last || rest.length > LONGEST_LINE)) {
      lines.push(rest);
      rest = '';
    }
    for (const line of lines) await onLine(line);
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
