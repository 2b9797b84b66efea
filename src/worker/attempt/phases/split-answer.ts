import { Writable } from 'node:stream';
import { ignore } from '../../../lib/async.ts';

/** What the exporter (docker/read-change.sh) prints last. */
const DONE = Buffer.from('done\n');
const MAX_HEAD_LENGTH = 100;
const MAX_BODY_BYTES = 65_536;

interface Answer {
  word: string;
  body: Buffer;
}

/**
 * Separates the answer from the bytes after it: a line with a word and a number of bytes, and as many bytes. `done` resolves
 * when what has come so far ends with the last line of the exporter, which is not written to `rest`. A pack can contain the
 * same bytes, so more may follow.
 */
export function splitAnswer(rest: Writable): { sink: Writable; answer: () => Answer; done: Promise<void> } {
  let begun: Buffer | undefined = Buffer.alloc(0);
  let answer: Answer = { word: '', body: Buffer.alloc(0) };
  let held: Buffer = Buffer.alloc(0);
  let report: () => void = ignore;
  const done = new Promise<void>((resolve) => (report = resolve));
  // The writer receives the error; this avoids an uncaught event.
  rest.on('error', () => undefined);
  const writeRest = (chunk: Buffer, written: (error?: Error | null) => void) => {
    const bytes = Buffer.concat([held, chunk]);
    held = bytes.subarray(-DONE.length);
    rest.write(bytes.subarray(0, -held.length || undefined), (error) => {
      written(error);
      if (held.equals(DONE)) report();
    });
  };
  const sink = new Writable({
    write(chunk: Buffer, _encoding, written) {
      if (begun === undefined) return void writeRest(chunk, written);
      begun = Buffer.concat([begun, chunk]);
      const line = begun.indexOf(0x0a);
      if (line > MAX_HEAD_LENGTH || (line < 0 && begun.length > MAX_HEAD_LENGTH))
        return written(new Error('the exporter printed no tree'));
      if (line < 0) return written();
      const [word = '', size = ''] = begun.toString('latin1', 0, line).split(' ');
      const bytes = Number(size);
      if (!/^\d+$/.test(size) || bytes > MAX_BODY_BYTES) return written(new Error('the exporter printed no answer'));
      const end = line + 1 + bytes;
      if (begun.length < end) return written();
      answer = { word, body: begun.subarray(line + 1, end) };
      const after = begun.subarray(end);
      begun = undefined;
      writeRest(after, written);
    },
    final: (ended) => void rest.end(held.equals(DONE) ? undefined : held, ended),
    destroy: (error, destroyed) => {
      rest.destroy();
      destroyed(error);
    },
  });
  return { sink, answer: () => answer, done };
}
