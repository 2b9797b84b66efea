import { constants, type Stats } from 'node:fs';
import { open, stat, type FileHandle } from 'node:fs/promises';

const { O_RDONLY, O_NONBLOCK, O_NOCTTY } = constants;

/** A file that is not read; the message is the end of a sentence. Without a code, unlike errors of the system. */
export class FileRefused extends Error {}

/**
 * Reads a file whose place or content others choose: only a regular one (or a link to one), and at most `most` bytes,
 * also when it grows meanwhile. A device or a pipe could be endless, or wait for ever for somebody who writes.
 * Throws FileRefused, and what the file system throws.
 */
export async function readRegularFile(path: string, most: number): Promise<Buffer> {
  // Before it is opened, too: opening alone may change a device.
  check(await stat(path), most);
  const file = await open(path, O_RDONLY | O_NONBLOCK | O_NOCTTY);
  try {
    const found = await file.stat();
    check(found, most);
    return await readAll(file, { size: found.size, most });
  } finally {
    await file.close();
  }
}

/** As `readRegularFile`, of a text in UTF-8. */
export async function readRegularText(path: string, most: number): Promise<string> {
  return (await readRegularFile(path, most)).toString('utf8');
}

/** All that a stream brings, unless it is more than `most` bytes. Throws FileRefused, and what the stream throws. */
export async function readStream(stream: AsyncIterable<Uint8Array>, most: number): Promise<Buffer> {
  const chunks: Uint8Array[] = [];
  let size = 0;
  for await (const chunk of stream) {
    size += chunk.length;
    if (size > most) throw tooLarge(most);
    chunks.push(chunk);
  }
  return Buffer.concat(chunks);
}

function check(found: Stats, most: number): void {
  if (found.isDirectory()) throw Object.assign(new Error('it is a folder'), { code: 'EISDIR' });
  if (!found.isFile()) throw new FileRefused('it is no regular file');
  if (found.size > most) throw tooLarge(most);
}

async function readAll(file: FileHandle, { size, most }: { size: number; most: number }): Promise<Buffer> {
  const parts: Buffer[] = [];
  let length = 0;
  for (let room = size + 1; ; room = 64 * 1024) {
    const part = Buffer.allocUnsafe(room);
    const { bytesRead } = await file.read(part, 0, room);
    if (bytesRead === 0) return Buffer.concat(parts, length);
    parts.push(part.subarray(0, bytesRead));
    length += bytesRead;
    if (length > most) throw tooLarge(most);
  }
}

function tooLarge(most: number): FileRefused {
  return new FileRefused(`it is larger than ${most} bytes`);
}
