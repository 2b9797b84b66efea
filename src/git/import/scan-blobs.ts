import { gitStream } from '../process/git.ts';
import { policyViolation } from './policy-violation.ts';
import { defined } from '../../lib/guards.ts';

/** Scans one blob that arrives in chunks. */
export interface BlobScan<T> {
  push(chunk: Buffer): void;
  end(): T;
}

export interface ScanRequest {
  gitDir: string;
  timeoutMs: number;
  signal: AbortSignal | undefined;
}

/**
 * Scans blobs and returns the results by id. Uses one git process, and streams the contents instead of keeping them.
 * Throws POLICY_VIOLATION when a blob is missing.
 */
export async function scanBlobs<T>(
  { gitDir, timeoutMs, signal }: ScanRequest,
  ids: string[],
  open: () => BlobScan<T>,
): Promise<Map<string, T>> {
  const found = new Map<string, T>();
  if (ids.length === 0) return found;
  const input = `${ids.join('\n')}\n`;
  const options = { gitDir, input, timeoutMs, ...defined({ signal }) };
  const objects = await gitStream(['cat-file', '--batch'], options);
  objects.done.catch(() => undefined);
  let head = '';
  /** Remaining bytes of the contents; undefined while a header is read. */
  let left: number | undefined;
  let scan = open();
  for await (const chunk of objects.stdout) {
    let rest = chunk as Buffer;
    while (rest.length > 0) {
      if (left === undefined) {
        const end = rest.indexOf(0x0a);
        head += rest.toString('latin1', 0, end < 0 ? rest.length : end);
        rest = end < 0 ? rest.subarray(rest.length) : rest.subarray(end + 1);
        if (end < 0) continue;
        left = Number(head.split(' ')[2]);
        if (Number.isNaN(left)) throw policyViolation(undefined, 'its contents are missing');
        continue;
      }
      const contents = rest.subarray(0, left);
      if (contents.length > 0) scan.push(contents);
      left -= contents.length;
      rest = rest.subarray(contents.length);
      if (left > 0 || rest.length === 0) continue;
      // Skip the newline after the contents.
      rest = rest.subarray(1);
      found.set(head.split(' ')[0] ?? '', scan.end());
      [head, left, scan] = ['', undefined, open()];
    }
  }
  await objects.done;
  return found;
}
