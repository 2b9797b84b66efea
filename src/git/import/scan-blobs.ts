import { gitStream } from '../process/git.ts';
import { violation } from '../violation.ts';

/** Looks at one blob that comes in pieces. */
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
 * What a scan finds in each of these blobs, by id. One process for all, however large they are together: contents pass
 * by and are not kept. Throws POLICY_VIOLATION when one is missing.
 */
export async function scanBlobs<T>(
  { gitDir, timeoutMs, signal }: ScanRequest,
  ids: string[],
  open: () => BlobScan<T>,
): Promise<Map<string, T>> {
  const found = new Map<string, T>();
  if (ids.length === 0) return found;
  const input = `${ids.join('\n')}\n`;
  const options = { gitDir, input, timeoutMs, ...(signal === undefined ? {} : { signal }) };
  const objects = await gitStream(['cat-file', '--batch'], options);
  objects.done.catch(() => undefined);
  let head = '';
  /** Bytes of the contents that are still to come; undefined while a header is read. */
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
        if (Number.isNaN(left)) throw violation(undefined, 'its contents are missing');
        continue;
      }
      const contents = rest.subarray(0, left);
      if (contents.length > 0) scan.push(contents);
      left -= contents.length;
      rest = rest.subarray(contents.length);
      if (left > 0 || rest.length === 0) continue;
      // The line end behind the contents.
      rest = rest.subarray(1);
      found.set(head.split(' ')[0] ?? '', scan.end());
      [head, left, scan] = ['', undefined, open()];
    }
  }
  await objects.done;
  return found;
}
