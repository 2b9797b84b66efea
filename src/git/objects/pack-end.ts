import { createHash } from 'node:crypto';
import { createReadStream } from 'node:fs';
import { open } from 'node:fs/promises';
import { pipeline } from 'node:stream/promises';

/**
 * Whether the file of a pack ends with its checksum, which is missing if it was cut off on its way. `hexLength`: the length of
 * object ids. https://git-scm.com/docs/gitformat-pack
 */
export async function hasPackEnd(path: string, hexLength: number): Promise<boolean> {
  const length = hexLength / 2;
  const file = await open(path);
  try {
    const { size } = await file.stat();
    if (size <= length) return false;
    const { buffer: end } = await file.read(Buffer.alloc(length), 0, length, size - length);
    const hash = createHash(length === 20 ? 'sha1' : 'sha256');
    await pipeline(createReadStream(path, { end: size - length - 1 }), hash);
    return hash.digest().equals(end);
  } finally {
    await file.close();
  }
}
