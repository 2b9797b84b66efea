import { createHash } from 'node:crypto';
import { finished } from 'node:stream/promises';
import { Writable } from 'node:stream';
import { gatherBytes } from '../../lib/gather-bytes.ts';

const TAIL_BYTES = 4_096;

/** What a log keeps of the beginning and of the end; what is between them is only counted. */
export const HEAD_BYTES = 8 * 1024 * 1024;
export const END_BYTES = 1024 * 1024;

/**
 * Joins both output streams of a command in one log, in the order of arrival, and remembers the end of it. A log that
 * would become very long keeps its head and its tail, and says how much is missing between them.
 */
export function openStepLog(log: Writable): {
  stdout: Writable;
  stderr: Writable;
  tail(): string;
  /** sha256 of all of it, once it is closed. */
  digest(): string;
  close(): Promise<void>;
} {
  const hash = createHash('sha256');
  const end = keepEnd();
  let headBytes = 0;
  // Who writes hears of a full disk, and so does who closes.
  log.on('error', () => undefined);
  const join = () =>
    new Writable({
      write(chunk: Buffer, _encoding, done) {
        hash.update(chunk);
        const head = chunk.subarray(0, HEAD_BYTES - headBytes);
        headBytes += head.length;
        end.add(chunk, chunk.length - head.length);
        if (head.length === 0) done();
        else log.write(head, done);
      },
    });
  return {
    stdout: join(),
    stderr: join(),
    tail: () => end.last(TAIL_BYTES).toString('utf8'),
    digest: () => hash.digest('hex'),
    close: async () => {
      const { missing, rest } = end.close();
      if (missing > 0) log.write(`\n[halo: ${missing} bytes are missing here]\n`);
      log.end(rest);
      await finished(log);
    },
  };
}

/** Remembers the last bytes of a stream, and how many of them came after the head. */
function keepEnd() {
  const kept = gatherBytes();
  let afterHead = 0;
  const last = (bytes: number) => {
    const all = kept.take();
    kept.add(all);
    return all.subarray(Math.max(0, all.length - bytes));
  };
  return {
    last,
    add(chunk: Buffer, behindHead: number): void {
      kept.add(chunk);
      afterHead += behindHead;
      if (kept.length() >= 2 * END_BYTES) kept.add(kept.take().subarray(-END_BYTES));
    },
    close(): { missing: number; rest: Buffer } {
      const rest = last(Math.min(afterHead, END_BYTES));
      return { missing: afterHead - rest.length, rest };
    },
  };
}
