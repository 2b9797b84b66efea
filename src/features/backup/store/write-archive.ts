import { createHash } from 'node:crypto';
import { once } from 'node:events';
import type { Writable } from 'node:stream';
import { pipeline } from 'node:stream/promises';
import { createGzip } from 'node:zlib';
import { pack } from 'tar-stream';
import { HaloError } from '../../../core/failure/errors.ts';
import { HEADER_NAME, MANIFEST_NAME, manifestLine, type BackupHeader } from '../core/archive.ts';

/** The content of a file: exactly `bytes`. */
export interface FileContent {
  bytes: number;
  /** In ms since 1970. */
  mtimeMs: number;
  content: AsyncIterable<Uint8Array> | Iterable<Uint8Array>;
}

/** What an archive has, without its header and manifest. */
export interface ArchiveSize {
  files: number;
  bytes: number;
}

export interface ArchiveWriter {
  /** Adds a file. Throws DISK_FAILED if its content is shorter than it said. */
  add(path: string, file: FileContent): Promise<void>;
  /** Adds the manifest, and resolves when everything is handed to the sink, which is ended. */
  finish(): Promise<ArchiveSize>;
}

/** Fast: most of the bytes are packs of git and compressed logs. */
const LEVEL = 3;

/** Writes an archive into `sink`: its header, then what is added. Errors of the sink are thrown by the next call. */
export async function writeArchive(sink: Writable, header: BackupHeader, signal: AbortSignal): Promise<ArchiveWriter> {
  const tar = pack();
  const gzip = createGzip({ level: LEVEL });
  const written = pipeline(tar, gzip, sink, { signal });
  const failed = written.then(
    () => new Promise<never>(() => undefined),
    (error: unknown) => Promise.reject(error as Error),
  );
  failed.catch(() => undefined);
  const lines: string[] = [];
  const size: ArchiveSize = { files: 0, bytes: 0 };
  const put = async (name: string, { bytes, mtimeMs, content }: FileContent): Promise<string> => {
    const hash = createHash('sha256');
    const ended = new Promise<void>((resolve, reject) => {
      const entry = tar.entry({ name, size: bytes, mode: 0o600, mtime: new Date(mtimeMs) }, (error) =>
        error ? reject(error) : resolve(),
      );
      void fill(entry, content, hash).catch((error: unknown) => entry.destroy(error as Error));
    });
    await Promise.race([ended, failed]).catch((error: unknown) => {
      tar.destroy(error as Error);
      throw error;
    });
    return hash.digest('hex');
  };
  const fill = async (
    entry: ReturnType<typeof tar.entry>,
    content: FileContent['content'],
    hash: ReturnType<typeof createHash>,
  ): Promise<void> => {
    for await (const chunk of content) {
      hash.update(chunk);
      if (!entry.write(chunk)) await Promise.race([once(entry, 'drain'), failed]);
    }
    entry.end(undefined);
  };
  const text = (content: string): FileContent => {
    const bytes = Buffer.from(content);
    return { bytes: bytes.length, mtimeMs: Date.parse(header.at), content: [bytes] };
  };
  await put(HEADER_NAME, text(`${JSON.stringify(header, null, 2)}\n`));
  return {
    async add(path, file) {
      const sha256 = await put(path, file).catch((error: unknown) => {
        throw toShortFile(path, error);
      });
      lines.push(manifestLine({ path, bytes: file.bytes, sha256 }));
      size.files += 1;
      size.bytes += file.bytes;
    },
    async finish() {
      await put(MANIFEST_NAME, text(lines.join('')));
      tar.finalize();
      await written;
      return size;
    },
  };
}

function toShortFile(path: string, error: unknown): unknown {
  if (!(error instanceof Error) || error.message !== 'Size mismatch') return error;
  return new HaloError('DISK_FAILED', `${path} became shorter while it was read.`, {
    hint: 'Make the backup again.',
    cause: error,
  });
}
