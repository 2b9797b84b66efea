import { randomBytes } from 'node:crypto';
import { createWriteStream } from 'node:fs';
import { lstat, readdir, rename, rm } from 'node:fs/promises';
import { basename, dirname, join } from 'node:path';
import { pipeline } from 'node:stream/promises';
import { createGzip } from 'node:zlib';
import { syncPath, writeAtomic } from '../../lib/fs.ts';
import { isMissing, withDiskErrors } from '../disk-errors.ts';
import { loadRun, lockRun } from '../journal/load-run.ts';
import { runPaths, type RunPaths } from '../run-layout.ts';
import { findRanges, sizeOfRanges } from './output-ranges.ts';
import {
  COMPRESSED,
  formatPlace,
  OUTPUT,
  openRegular,
  PLACED,
  plainName,
  readPlace,
  UNFINISHED,
  unlessGone,
} from './stored-file.ts';

/** Compression of smaller files frees next to nothing. */
const MIN_BYTES = 64 * 1024;
/** The proof of a landed commit, which stays readable by other programs. */
const PROOF = 'proof.json';
const MAX_DEPTH = 4;

/**
 * Frees the space of files of an ended run that exist twice or can be compressed. The raw output of an attempt is also in
 * `events.jsonl` of the run: only its place there is kept, like that of large output from the beginning. Logs, patches and cassettes are compressed. Readers get
 * identical content before, during and after it. Safe to repeat after a crash. Returns how many bytes it has freed.
 */
export async function compressOutput(home: string, runId: string): Promise<number> {
  const paths = runPaths(home, runId);
  return withDiskErrors(paths.dir, async () => {
    if ((await loadRun(paths)).state.status !== 'ended') return 0;
    const found = await findFiles(paths.artifacts, 1);
    const files = found.sort((a, b) => a.born - b.born).map(({ path }) => path);
    let freed = 0;
    /** Outputs begin in `events.jsonl` in the order in which attempts began. */
    let from = 0;
    for (const path of files) {
      const isOutput = basename(path) === OUTPUT;
      if (isOutput && (await readPlace(`${path}${PLACED}`)) !== undefined) {
        // A worker died before it removed it.
        await rm(path, { force: true });
        continue;
      }
      const placed = isOutput ? await place(paths, path, from) : undefined;
      from = placed?.begin ?? from;
      const made = placed ?? (await compress(path));
      if (made === undefined) continue;
      if (await replace(paths, path, made)) freed += made.from - made.to;
      else await rm(made.path, { force: true });
    }
    return freed;
  });
}

/** A file that has the content of another one in less space, synced, under a name of its own. */
interface Smaller {
  path: string;
  /** What the name of the other file will end with. */
  form: typeof COMPRESSED | typeof PLACED;
  /** Sizes in bytes. */
  from: number;
  to: number;
}

/** Returns false if the run was reopened, so that it may write to the file again. */
async function replace(paths: RunPaths, path: string, { path: aside, form, from }: Smaller): Promise<boolean> {
  return lockRun(paths, async () => {
    const now = await lstat(path).catch(unlessGone);
    if (now?.size !== from || (await loadRun(paths)).state.status !== 'ended') return false;
    await rename(aside, `${path}${form}`);
    await syncPath(dirname(path));
    await rm(path);
    return true;
  });
}

/** Finds the raw output of an attempt in that of the run; undefined if it is not there. */
async function place(paths: RunPaths, path: string, from: number): Promise<(Smaller & { begin: number }) | undefined> {
  const own = await openRegular(path).catch(unlessGone);
  const shared = await openRegular(paths.raw).catch(unlessGone);
  try {
    if (own === undefined || shared === undefined) return undefined;
    const { size } = await own.stat();
    const ranges = (await findRanges(own, shared, from)) ?? (from > 0 && (await findRanges(own, shared, 0)));
    if (!ranges || sizeOfRanges(ranges) !== size) return undefined;
    await shared.sync();
    const aside = `${path}${PLACED}.${randomBytes(4).toString('hex')}.tmp`;
    const text = formatPlace(ranges);
    await writeAtomic(aside, text, true);
    return { path: aside, form: PLACED, from: size, to: text.length, begin: ranges[0]?.[0] ?? from };
  } finally {
    await own?.close();
    await shared?.close();
  }
}

/** Writes the compressed form of a file next to it; undefined if it is not a regular file. */
async function compress(path: string): Promise<Smaller | undefined> {
  const file = await openRegular(path).catch(unlessGone);
  if (file === undefined) return undefined;
  const aside = `${path}${COMPRESSED}.${randomBytes(4).toString('hex')}.tmp`;
  try {
    const { size } = await file.stat();
    const target = createWriteStream(aside, { flags: 'wx', mode: 0o600, flush: true });
    await pipeline(file.createReadStream({ autoClose: false, end: size - 1 }), createGzip(), target);
    return { path: aside, form: COMPRESSED, from: size, to: target.bytesWritten };
  } catch (error) {
    await rm(aside, { force: true });
    throw error;
  } finally {
    await file.close();
  }
}

/** Files of attempts that are worth it, the oldest first. Removes unfinished ones of processes that died. */
async function findFiles(dir: string, depth: number): Promise<{ path: string; born: number }[]> {
  const entries = await readdir(dir, { withFileTypes: true }).catch((error: unknown) => {
    if (isMissing(error)) return [];
    throw error;
  });
  const found: { path: string; born: number }[] = [];
  for (const entry of entries) {
    const path = join(dir, entry.name);
    if (entry.isDirectory() && depth < MAX_DEPTH) found.push(...(await findFiles(path, depth + 1)));
    if (!entry.isFile()) continue;
    if (UNFINISHED.test(entry.name) && [COMPRESSED, PLACED].some((form) => entry.name.includes(`${form}.`)))
      await rm(path, { force: true });
    if (entry.name === PROOF || plainName(entry.name) !== entry.name) continue;
    const facts = await lstat(path).catch(unlessGone);
    if (facts?.isFile() === true && facts.size >= MIN_BYTES) found.push({ path, born: facts.birthtimeMs });
  }
  return found;
}
