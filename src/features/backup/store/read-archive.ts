import { createHash } from 'node:crypto';
import { Readable } from 'node:stream';
import { pipeline } from 'node:stream/promises';
import { createGunzip } from 'node:zlib';
import { extract, type Header } from 'tar-stream';
import { HaloError } from '../../../core/failure/errors.ts';
import { ignore } from '../../../lib/async.ts';
import { tryParseJson } from '../../../lib/parse-json.ts';
import { RUN_ID } from '../../../lib/run-id.ts';
import {
  assertEntry,
  damaged,
  HEADER_NAME,
  MANIFEST_NAME,
  manifestLine,
  MAX_HEADER_BYTES,
  notABackup,
  toHeader,
  type BackupHeader,
} from '../core/archive.ts';
import type { ArchiveSize } from './write-archive.ts';

/** What is done with the parts of an archive while it is read. Nothing of it is verified before `readArchive` resolves. */
export interface ArchiveUse {
  onHeader(header: BackupHeader): Promise<void> | void;
  /** Must read the content to its end. */
  onFile(file: { path: string; bytes: number; mtimeMs: number }, content: AsyncIterable<Buffer>): Promise<void>;
}

/**
 * Reads an archive to its end and verifies every byte against its manifest. Throws BACKUP_UNREADABLE for one that is damaged,
 * cut off, made by a newer halo, or has an entry that no backup has; what `use` throws; and RUN_ABORTED.
 */
export async function readArchive(
  source: AsyncIterable<Uint8Array>,
  use: ArchiveUse,
  signal: AbortSignal,
): Promise<ArchiveSize & { header: BackupHeader }> {
  const tar = extract();
  const fed = pipeline(Readable.from(source), createGunzip(), tar, { signal });
  fed.catch(ignore);
  const reading = new Reading(use);
  let own: unknown;
  try {
    for await (const entry of tar)
      await reading.take(entry.header, entry as AsyncIterable<Buffer>).catch((error: unknown) => {
        own = error;
        throw error;
      });
    await fed;
    return reading.result();
  } catch (error) {
    tar.destroy();
    if (signal.aborted) throw new HaloError('RUN_ABORTED', 'The reading of the backup was stopped.', { cause: error });
    // Of the disk, or a decision; anything else follows from an error of the source or its compression.
    if (own instanceof HaloError || (own instanceof Error && 'syscall' in own)) throw own;
    throw toUnreadable(
      await fed.then(
        () => error,
        (first: unknown) => first,
      ),
    );
  }
}

class Reading {
  readonly #use: ArchiveUse;
  readonly #manifest = createHash('sha256');
  readonly #size: ArchiveSize = { files: 0, bytes: 0 };
  #header: BackupHeader | undefined;
  #isComplete = false;

  constructor(use: ArchiveUse) {
    this.#use = use;
  }

  async take({ name, type, size: bytes = NaN, mtime }: Header, content: AsyncIterable<Buffer>): Promise<void> {
    if (this.#header === undefined) return this.#takeHeader(name, bytes, content);
    if (this.#isComplete) throw damaged('something follows its end');
    if (name === MANIFEST_NAME) return this.#takeManifest(content);
    assertEntry({ name, type: type ?? undefined, bytes }, RUN_ID);
    const hash = createHash('sha256');
    await this.#use.onFile({ path: name, bytes, mtimeMs: mtime?.getTime() ?? 0 }, hashed(content, hash));
    this.#manifest.update(manifestLine({ path: name, bytes, sha256: hash.digest('hex') }));
    this.#size.files += 1;
    this.#size.bytes += bytes;
  }

  result(): ArchiveSize & { header: BackupHeader } {
    if (this.#header === undefined) throw notABackup();
    if (!this.#isComplete) throw damaged('its end is missing');
    return { ...this.#size, header: this.#header };
  }

  async #takeHeader(name: string, bytes: number, content: AsyncIterable<Buffer>): Promise<void> {
    if (name !== HEADER_NAME || bytes > MAX_HEADER_BYTES) throw notABackup();
    const parts: Buffer[] = [];
    for await (const chunk of content) parts.push(chunk);
    this.#header = toHeader(tryParseJson(Buffer.concat(parts).toString('utf8')));
    await this.#use.onHeader(this.#header);
  }

  async #takeManifest(content: AsyncIterable<Buffer>): Promise<void> {
    const written = createHash('sha256');
    for await (const chunk of content) written.update(chunk);
    if (written.digest('hex') !== this.#manifest.digest('hex')) throw damaged('a file is not as it was saved');
    this.#isComplete = true;
  }
}

async function* hashed(content: AsyncIterable<Buffer>, hash: ReturnType<typeof createHash>): AsyncGenerator<Buffer> {
  for await (const chunk of content) {
    hash.update(chunk);
    yield chunk;
  }
}

/** Errors of zlib have a code with this start; those of tar-stream have none. */
const OF_ZLIB = /^Z_/;

function toUnreadable(error: unknown): unknown {
  if (error instanceof HaloError || !(error instanceof Error)) return error;
  const { code, message } = error as NodeJS.ErrnoException;
  if (message === 'incorrect header check') return notABackup(error);
  if (code === 'Z_BUF_ERROR' || message === 'Unexpected end of data') return damaged('its end is missing', error);
  if (code === undefined || OF_ZLIB.test(code)) return damaged(message, error);
  return error;
}
