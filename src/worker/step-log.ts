import { finished } from 'node:stream/promises';
import { Writable } from 'node:stream';

const TAIL_BYTES = 4_096;

/** Joins both output streams of a command in one log, in the order of arrival, and remembers the end of it. */
export function openStepLog(log: Writable): {
  stdout: Writable;
  stderr: Writable;
  tail(): string;
  close(): Promise<void>;
} {
  let tail = Buffer.alloc(0);
  const join = () =>
    new Writable({
      write(chunk: Buffer, _encoding, done) {
        tail = Buffer.concat([tail, chunk]).subarray(-TAIL_BYTES);
        log.write(chunk, done);
      },
    });
  return {
    stdout: join(),
    stderr: join(),
    tail: () => tail.toString('utf8'),
    close: async () => {
      log.end();
      await finished(log);
    },
  };
}
