import { randomBytes } from 'node:crypto';
import type { OutputChunk } from '../demultiplex.ts';

/** Absolute paths, and who receives how many levels are in them after all processes have ended; nothing if that is unknown. */
export interface DepthRequest {
  folders: readonly string[];
  measured: (levels: number) => void;
}

/** Maximum length of the number and the newline after the token. */
const MAX_REST = 8;

/**
 * Asks `wait` (docker/sandbox/wait.c) to measure folders when its script has ended. `request` belongs after the length of
 * the script. `read` returns the output without the report, which only `wait` can write: nothing else knows its token.
 */
export function openDepthReport({ folders, measured }: DepthRequest) {
  const token = randomBytes(16).toString('hex');
  const begin = Buffer.from(`\x06${token} `);
  async function* read(output: AsyncIterable<OutputChunk>): AsyncGenerator<OutputChunk, void, void> {
    let held: Buffer = Buffer.alloc(0);
    for await (const piece of output) {
      if (piece.from === 'stdout') {
        yield piece;
        continue;
      }
      const bytes = held.length === 0 ? piece.bytes : Buffer.concat([held, piece.bytes]);
      const at = beginOf(bytes, begin);
      held = bytes.subarray(at);
      if (at > 0) yield { from: 'stderr', bytes: bytes.subarray(0, at) };
      const report = /^ (\d+)\n/.exec(held.subarray(begin.length - 1, begin.length + MAX_REST).toString('latin1'));
      if (report === null) continue;
      measured(Number(report[1]));
      held = held.subarray(begin.length - 1 + report[0].length);
    }
    if (held.length > 0) yield { from: 'stderr', bytes: held };
  }
  return { request: ` ${token} ${folders.join(' ')}`, read };
}

/** Where the report begins, or may begin at the end of what has arrived; the length if neither. */
function beginOf(bytes: Buffer, begin: Buffer): number {
  const whole = bytes.indexOf(begin);
  if (whole >= 0) return whole;
  for (let at = Math.max(0, bytes.length - begin.length + 1); at < bytes.length; at += 1)
    if (bytes.subarray(at).equals(begin.subarray(0, bytes.length - at))) return at;
  return bytes.length;
}
