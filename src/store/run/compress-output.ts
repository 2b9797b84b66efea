import { randomBytes } from 'node:crypto';
import { constants, createWriteStream } from 'node:fs';
import { lstat, open, readdir, rename, rm, type FileHandle } from 'node:fs/promises';
import { basename, dirname, join } from 'node:path';
import { pipeline } from 'node:stream/promises';
import { createGunzip, createGzip } from 'node:zlib';
import { HaloError } from '../../core/failure/errors.ts';
import { syncPath } from '../../lib/fs.ts';
import { isMissing, withDiskErrors } from '../disk-errors.ts';
import { lockRun } from '../journal/append-events.ts';
import { loadRun } from '../journal/load-run.ts';
import { runPaths } from '../run-layout.ts';

/** The raw output of an attempt, and what its name ends with once it is compressed. */
const OUTPUT = 'events.jsonl';
const COMPRESSED = '.gz';
/** Compression of smaller files frees next to nothing. */
const MIN_BYTES = 64 * 1024;
/** Ends the names of files that are being written. */
const UNFINISHED = /\.[0-9a-f]{8}\.tmp$/;

const { O_NOFOLLOW, O_NONBLOCK, O_RDONLY } = constants;

/**
 * Compresses the raw output of the attempts of an ended run; `events.jsonl` of the run contains the same output. Readers
 * get identical content before, during and after compression. Safe to repeat after a crash. Returns how many bytes it has freed.
 */
export async function compressOutput(home: string, runId: string): Promise<number> {
  const paths = runPaths(home, runId);
  return withDiskErrors(paths.dir, async () => {
    const outputs = await findOutputs(paths.artifacts);
    if (outputs.length === 0 || (await loadRun(paths)).state.status !== 'ended') return 0;
    let freed = 0;
    for (const path of outputs) {
      const made = await compress(path);
      if (made === undefined) continue;
      const isKept = await lockRun(paths, async () => {
        // A run that was reopened may write to it again.
        const now = await lstat(path).catch(unlessGone);
        if (now?.size !== made.from || (await loadRun(paths)).state.status !== 'ended') return false;
        await rename(made.path, `${path}${COMPRESSED}`);
        await syncPath(dirname(path));
        await rm(path);
        return true;
      });
      if (isKept) freed += made.from - made.to;
      else await rm(made.path, { force: true });
    }
    return freed;
  });
}

/** The name of a file without the mark of compression; undefined for a file that is being written. */
export function plainName(name: string): string | undefined {
  if (UNFINISHED.test(name)) return undefined;
  return name === `${OUTPUT}${COMPRESSED}` ? OUTPUT : name;
}

/** The compressed form of a file; undefined if there is none. */
export async function findCompressed(path: string): Promise<string | undefined> {
  if (basename(path) !== OUTPUT) return undefined;
  const found = await lstat(`${path}${COMPRESSED}`).catch(unlessGone);
  return found?.isFile() === true ? `${path}${COMPRESSED}` : undefined;
}

/** The size of a compressed file before compression, modulo 4 GiB: https://www.rfc-editor.org/rfc/rfc1952 */
export async function sizeBefore(path: string): Promise<number> {
  const file = await openRegular(path);
  try {
    const { size } = await file.stat();
    const { buffer } = await file.read(Buffer.alloc(4), 0, 4, Math.max(0, size - 4));
    return buffer.readUInt32LE(0);
  } finally {
    await file.close();
  }
}

/** The content of a compressed file from an offset on. Throws ARTIFACT_UNREADABLE after the content that is intact. */
export async function* readCompressed(path: string, from = 0): AsyncGenerator<Buffer> {
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
    throw new HaloError('ARTIFACT_UNREADABLE', `The file ${path} is damaged.`, {
      hint: 'Read events.jsonl in the run directory, which has the output of all stories.',
      cause: error,
    });
  } finally {
    plain.destroy();
    await done;
    await file.close().catch(() => undefined);
  }
}

/** Writes the compressed form of a file next to it, synced; undefined if it is not a regular file. */
async function compress(path: string): Promise<{ path: string; from: number; to: number } | undefined> {
  const file = await openRegular(path).catch(unlessGone);
  if (file === undefined) return undefined;
  const aside = `${path}${COMPRESSED}.${randomBytes(4).toString('hex')}.tmp`;
  try {
    const { size } = await file.stat();
    const target = createWriteStream(aside, { flags: 'wx', mode: 0o600, flush: true });
    await pipeline(file.createReadStream({ autoClose: false, end: size - 1 }), createGzip(), target);
    return { path: aside, from: size, to: target.bytesWritten };
  } catch (error) {
    await rm(aside, { force: true });
    throw error;
  } finally {
    await file.close();
  }
}

/** The raw output of attempts below a folder that is worth it. Removes unfinished files of processes that died. */
async function findOutputs(artifacts: string): Promise<string[]> {
  const found: string[] = [];
  for (const story of await foldersIn(artifacts))
    for (const attempt of await foldersIn(story)) {
      for (const name of await readdir(attempt))
        if (name.startsWith(`${OUTPUT}${COMPRESSED}.`) && UNFINISHED.test(name)) await rm(join(attempt, name));
      const path = join(attempt, OUTPUT);
      const facts = await lstat(path).catch(unlessGone);
      if (facts?.isFile() === true && facts.size >= MIN_BYTES) found.push(path);
    }
  return found;
}

async function foldersIn(dir: string): Promise<string[]> {
  const entries = await readdir(dir, { withFileTypes: true }).catch((error: unknown) => {
    if (isMissing(error)) return [];
    throw error;
  });
  return entries.filter((entry) => entry.isDirectory()).map(({ name }) => join(dir, name));
}

async function openRegular(path: string): Promise<FileHandle> {
  const file = await open(path, O_RDONLY | O_NOFOLLOW | O_NONBLOCK);
  if ((await file.stat()).isFile()) return file;
  await file.close();
  throw Object.assign(new Error(`${path} is not a regular file`), { code: 'ENOENT', errno: -2, path });
}

/** A link in the place of a file counts as a missing file. */
function unlessGone(error: unknown): undefined {
  if (!isMissing(error) && (error as NodeJS.ErrnoException).code !== 'ELOOP') throw error;
}
