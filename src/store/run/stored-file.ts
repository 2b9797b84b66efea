import { constants } from 'node:fs';
import { lstat, open, type FileHandle } from 'node:fs/promises';
import { basename, resolve } from 'node:path';
import { pipeline } from 'node:stream/promises';
import { HaloError } from '../../core/failure/errors.ts';
import { tryParseJson } from '../../lib/parse-json.ts';
import { isMissing } from '../disk-errors.ts';
import { sizeOfRanges, type ByteRange } from './output-ranges.ts';

/** What the name of a file ends with once it is compressed, or once only its place in the output of the run is kept. */
export const COMPRESSED = '.gz';
export const PLACED = '.ranges';
/** The raw output of an attempt, and that of a run. */
export const OUTPUT = 'events.jsonl';
/** Ends the names of files that are being written. */
export const UNFINISHED = /\.[0-9a-f]{8}\.tmp$/;

const CHUNK_BYTES = 256 * 1024;
const { O_NOFOLLOW, O_NONBLOCK, O_RDONLY } = constants;

/** The content of a file `events.jsonl.ranges`: where the output of the attempt is in `events.jsonl` of its run. */
interface PlacedOutput {
  v: 1;
  bytes: number;
  ranges: ByteRange[];
}

export function formatPlace(ranges: ByteRange[]): string {
  return JSON.stringify({ v: 1, bytes: sizeOfRanges(ranges), ranges } satisfies PlacedOutput);
}

/** The ranges in a file `events.jsonl.ranges`; undefined if it does not exist. Throws ARTIFACT_UNREADABLE. */
export async function readPlace(path: string): Promise<ByteRange[] | undefined> {
  const file = await openRegular(path).catch(unlessGone);
  if (file === undefined) return undefined;
  return (
    parsePlace(file, path)
      .then(({ ranges }) => ranges)
      // oxlint-disable-next-line typescript/no-misused-promises -- `finally` waits for the promise
      .finally(() => file.close())
  );
}

/** The name of a file before it was compressed; undefined for a file that is being written. */
export function plainName(name: string): string | undefined {
  if (UNFINISHED.test(name)) return undefined;
  if (name === `${OUTPUT}${PLACED}`) return OUTPUT;
  return name.endsWith(COMPRESSED) ? name.slice(0, -COMPRESSED.length) : name;
}

/** The content of a file: the file itself, or another one that is stored in its place. */
export interface StoredContent {
  path: string;
  isStored: boolean;
  /** The size of a file that is not stored otherwise. */
  bytes?: number;
}

/** Finds the content of a file in any form; undefined if there is none. */
export async function findContent(path: string): Promise<StoredContent | undefined> {
  // A worker may have died between two forms: the ranges are those of all output, but a compressed file may be another one.
  const forms = basename(path) === OUTPUT ? [PLACED, '', COMPRESSED] : ['', COMPRESSED];
  for (const form of forms) {
    const found = await lstat(`${path}${form}`).catch(unlessGone);
    if (found?.isFile() !== true) continue;
    return form === '' ? { path, isStored: false, bytes: found.size } : { path: `${path}${form}`, isStored: true };
  }
  return undefined;
}

/** The size of content that is stored otherwise: https://www.rfc-editor.org/rfc/rfc1952, modulo 4 GiB. */
export async function sizeBefore(path: string): Promise<number> {
  const file = await openRegular(path);
  try {
    if (path.endsWith(PLACED)) return (await parsePlace(file, path)).bytes;
    const { size } = await file.stat();
    const { buffer } = await file.read(Buffer.alloc(4), 0, 4, Math.max(0, size - 4));
    return buffer.readUInt32LE(0);
  } finally {
    await file.close();
  }
}

/**
 * Content that is stored otherwise, from an offset on. Throws ARTIFACT_UNREADABLE after the content that is intact.
 */
export async function* readStored(path: string, from = 0): AsyncGenerator<Buffer> {
  if (path.endsWith(PLACED)) yield* readPlaced(path, from);
  else yield* readCompressed(path, from);
}

/** Content in any form, from an offset on, as far as it was written. Throws like `readStored`. */
export async function* readChunks({ path, isStored }: StoredContent, from = 0): AsyncGenerator<Buffer> {
  if (isStored) {
    yield* readStored(path, from);
    return;
  }
  const file = await openRegular(path).catch(async (error: unknown) => {
    // It may have been replaced since it was found.
    const now = isMissing(error) ? await findContent(path) : undefined;
    if (now?.isStored !== true) throw error;
    return now.path;
  });
  if (typeof file === 'string') {
    yield* readStored(file, from);
    return;
  }
  try {
    yield* readRange(file, [from, Infinity]);
  } finally {
    await file.close();
  }
}

/** The bytes of a range, or fewer at the end of the file. */
async function* readRange(file: FileHandle, [from, to]: ByteRange): AsyncGenerator<Buffer> {
  for (let at = from; at < to;) {
    const size = Math.min(CHUNK_BYTES, to - at);
    const { bytesRead, buffer } = await file.read(Buffer.alloc(size), 0, size, at);
    if (bytesRead === 0) return;
    at += bytesRead;
    yield buffer.subarray(0, bytesRead);
  }
}

async function* readPlaced(path: string, from: number): AsyncGenerator<Buffer> {
  const place = await openRegular(path);
  // oxlint-disable-next-line typescript/no-misused-promises -- `finally` waits for the promise
  const { ranges } = await parsePlace(place, path).finally(() => place.close());
  // artifacts/<story>/<attempt>/events.jsonl.ranges
  const output = resolve(path, '..', '..', '..', '..', OUTPUT);
  const file = await openRegular(output).catch((error: unknown) => {
    throw isMissing(error) ? damaged(output, error) : error;
  });
  try {
    let skip = from;
    for (const [start, end] of ranges) {
      let at = start + Math.min(skip, end - start);
      skip -= at - start;
      for await (const chunk of readRange(file, [at, end])) {
        at += chunk.length;
        yield chunk;
      }
      if (at < end) throw damaged(output);
    }
  } finally {
    await file.close();
  }
}

async function parsePlace(file: FileHandle, path: string): Promise<PlacedOutput> {
  const place = tryParseJson(await file.readFile('utf8')) as Partial<PlacedOutput> | null | undefined;
  const isNumber = (value: unknown) => Number.isSafeInteger(value) && Number(value) >= 0;
  const isRange = (range: unknown) => Array.isArray(range) && range.length === 2 && range.every(isNumber);
  if (place?.v === 1 && isNumber(place.bytes) && Array.isArray(place.ranges) && place.ranges.every(isRange))
    return place as PlacedOutput;
  throw damaged(path);
}

async function* readCompressed(path: string, from: number): AsyncGenerator<Buffer> {
  const { createGunzip } = await import('node:zlib');
  const file = await openRegular(path);
  const stream = file.createReadStream();
  const plain = createGunzip();
  const done = pipeline(stream, plain).catch(() => undefined);
  let skip = from;
  try {
    for await (const chunk of plain as AsyncIterable<Buffer>) {
      if (skip < chunk.length) yield skip === 0 ? chunk : chunk.subarray(skip);
      skip = Math.max(0, skip - chunk.length);
    }
  } catch (error) {
    if (!String((error as NodeJS.ErrnoException).code).startsWith('Z_')) throw error;
    throw damaged(path, error);
  } finally {
    plain.destroy();
    await done;
    await file.close().catch(() => undefined);
  }
}

function damaged(path: string, cause?: unknown): HaloError {
  return new HaloError('ARTIFACT_UNREADABLE', `The file ${path} is damaged.`, {
    hint: 'Read what is left of the output of all stories in events.jsonl of the run directory.',
    cause,
  });
}

/** Opens a regular file. Links, devices and folders count as missing. */
export async function openRegular(path: string): Promise<FileHandle> {
  const file = await open(path, O_RDONLY | O_NOFOLLOW | O_NONBLOCK);
  if ((await file.stat()).isFile()) return file;
  await file.close();
  throw Object.assign(new Error(`${path} is not a regular file`), { code: 'ENOENT', errno: -2, path });
}

/** A link in the place of a file counts as a missing file. */
export function unlessGone(error: unknown): undefined {
  if (!isMissing(error) && (error as NodeJS.ErrnoException).code !== 'ELOOP') throw error;
}
