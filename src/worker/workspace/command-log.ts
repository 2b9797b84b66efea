import { createHash } from 'node:crypto';
import { finished } from 'node:stream/promises';
import { Writable } from 'node:stream';
import { TAIL_BYTES } from '../../core/journal/events.ts';
import { createByteBuffer } from '../../lib/streams.ts';

/** How much a log keeps of the beginning and of the end; the bytes between them are only counted. */
export const HEAD_BYTES = 8 * 1024 * 1024;
export const TAIL_LOG_BYTES = 1024 * 1024;

/**
 * Joins both output streams of a command in one log, in the order of arrival, and keeps its tail. A very long log keeps
 * its head and tail, and a line between them says how many bytes are missing.
 */
export function openCommandLog(log: Writable): {
  stdout: Writable;
  stderr: Writable;
  tail(): string;
  /** The sha256 of the whole output; call it after `close`. */
  digest(): string;
  close(): Promise<void>;
} {
  const hash = createHash('sha256');
  const end = keepEnd();
  let headBytes = 0;
  // Writes and `close` reject on a full disk; this avoids an uncaught event.
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

/** Keeps the last bytes of a stream and counts those after the head. */
function keepEnd() {
  const kept = createByteBuffer();
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
      if (kept.length() >= 2 * TAIL_LOG_BYTES) kept.add(kept.take().subarray(-TAIL_LOG_BYTES));
    },
    close(): { missing: number; rest: Buffer } {
      const rest = last(Math.min(afterHead, TAIL_LOG_BYTES));
      return { missing: afterHead - rest.length, rest };
    },
  };
}
