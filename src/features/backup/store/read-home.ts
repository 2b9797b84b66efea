import { constants } from 'node:fs';
import { lstat, open, readdir, readFile, type FileHandle } from 'node:fs/promises';
import { join } from 'node:path';
import { HaloError, toHaloError } from '../../../core/failure/errors.ts';
import type { RunState } from '../../../core/run/state.ts';
import { readFolder } from '../../../lib/fs.ts';
import { RUN_ID } from '../../../lib/run-id.ts';
import { unlessMissing, withDiskErrors } from '../../../store/disk-errors.ts';
import { loadRun, lockRun } from '../../../store/journal/load-run.ts';
import { OpenRuns } from '../../../store/open-runs.ts';
import { runPaths, runsFolder } from '../../../store/run-layout.ts';
import { COMPLETE, publishRuns } from '../../../store/run/create-run.ts';
import { isArtifact, isFileName, isUnfinished } from '../core/home-entries.ts';
import type { FileContent } from './write-archive.ts';

/** Paths below a HALO_HOME. */
export interface FoundFiles {
  files: string[];
  /** What is there and is not saved: links, and names that halo does not use. */
  strange: string[];
}

/** The regular files at and below an entry of a HALO_HOME, in order; none if it does not exist. Throws DISK_FAILED. */
export async function findFiles(home: string, entry: string): Promise<FoundFiles> {
  const found: FoundFiles = { files: [], strange: [] };
  const visit = async (path: string): Promise<void> => {
    const facts = await lstat(join(home, path)).catch(unlessMissing);
    if (facts?.isFile() === true) found.files.push(path);
    else if (facts?.isDirectory() === true) {
      const names = await readdir(join(home, path)).catch(unlessMissing);
      for (const name of (names ?? []).sort()) {
        if (isUnfinished(name)) continue;
        if (isFileName(name)) await visit(`${path}/${name}`);
        else found.strange.push(`${path}/${name}`);
      }
    } else if (facts !== undefined) found.strange.push(path);
  };
  await withDiskErrors(join(home, entry), () => visit(entry));
  return found;
}

/** Files up to this size are in memory before they are saved: what shortens them meanwhile does no harm. */
const SMALL_BYTES = 1024 * 1024;

/**
 * Opens a file as it is now: what is appended later is not part of it. `end`: only so many bytes of it; `wholeLines`: up to
 * its last complete line. Undefined if it does not exist. Throws DISK_FAILED.
 */
export async function openFile(
  home: string,
  path: string,
  { end, wholeLines = false }: { end?: number; wholeLines?: boolean } = {},
): Promise<FileContent | undefined> {
  const at = join(home, path);
  return withDiskErrors(at, async () => {
    const file = await open(at, O_RDONLY | O_NOFOLLOW | O_NONBLOCK).catch(unlessMissing);
    if (file === undefined) return undefined;
    let kept = false;
    try {
      const facts = await file.stat();
      if (!facts.isFile())
        throw new HaloError('DISK_FAILED', `${at} is not a file.`, { hint: 'Find out who replaced it.' });
      const size = end ?? (wholeLines ? await endOfLines(file, facts.size) : facts.size);
      const content = { bytes: size, mtimeMs: facts.mtimeMs };
      if (size > SMALL_BYTES) {
        kept = true;
        return { ...content, content: readTo(file, size) };
      }
      const bytes = Buffer.alloc(size);
      const { bytesRead } = await file.read(bytes, 0, size, 0);
      return { ...content, bytes: bytesRead, content: [bytes.subarray(0, bytesRead)] };
    } finally {
      if (!kept) await file.close();
    }
  });
}

async function* readTo(file: FileHandle, end: number): AsyncGenerator<Buffer> {
  try {
    for (let at = 0; at < end;) {
      const chunk = Buffer.allocUnsafe(Math.min(CHUNK_BYTES, end - at));
      const { bytesRead } = await file.read(chunk, 0, chunk.length, at);
      if (bytesRead === 0) return;
      yield chunk.subarray(0, bytesRead);
      at += bytesRead;
    }
  } finally {
    await file.close();
  }
}

const { O_NOFOLLOW, O_NONBLOCK, O_RDONLY } = constants;
const CHUNK_BYTES = 256 * 1024;

async function endOfLines(file: FileHandle, size: number): Promise<number> {
  for (let to = size; to > 0; to = Math.max(0, to - CHUNK_BYTES)) {
    const from = Math.max(0, to - CHUNK_BYTES);
    const chunk = Buffer.alloc(to - from);
    const { bytesRead } = await file.read(chunk, 0, chunk.length, from);
    const end = chunk.subarray(0, bytesRead).lastIndexOf(0x0a);
    if (end >= 0) return from + end + 1;
  }
  return 0;
}

/** Ids of all runs, oldest first. The runs of one submit are all there, or none of them. Throws DISK_FAILED. */
export async function listRuns(home: string): Promise<string[]> {
  const dir = runsFolder(home);
  for (;;) {
    await publishRuns(dir, new OpenRuns(home));
    const names = await withDiskErrors(dir, () => readFolder(dir));
    // Another process is moving them to their places.
    if (!names.some((name) => name.startsWith(COMPLETE))) return names.filter((name) => RUN_ID.test(name)).sort();
  }
}

/** A run as it is at one moment. */
export interface RunCut {
  runId: string;
  /** Undefined if its journal is damaged. */
  state: RunState | undefined;
  error: HaloError | undefined;
  /** The files that belong to that moment, by path below the home. */
  files: { path: string; file: FileContent }[];
}

/**
 * Reads what belongs to one moment of a run while it is locked: nothing is appended, and its branch does not move. `also`
 * reads more of that moment. Undefined if the run was removed. Throws DISK_FAILED.
 */
export async function cutRun<T>(
  home: string,
  runId: string,
  also: (state: RunState) => Promise<T>,
): Promise<(RunCut & { more: T | undefined }) | undefined> {
  const paths = runPaths(home, runId);
  const dir = `runs/${runId}`;
  const cut = async () => {
    const loaded = await loadRun(paths).catch((error: unknown) => toHaloError(error));
    if (loaded instanceof HaloError && loaded.code !== 'RUN_UNREADABLE') throw loaded;
    const [end, state] = loaded instanceof HaloError ? [] : [loaded.end, loaded.state];
    const files: RunCut['files'] = [];
    const journal = await openFile(home, `${dir}/journal.jsonl`, end === undefined ? { wholeLines: true } : { end });
    if (journal !== undefined) files.push({ path: `${dir}/journal.jsonl`, file: journal });
    // The feed says which events of the journal were not handed on.
    for (const path of [...WITH_JOURNAL.map((name) => `${dir}/${name}`), `feed/${runId}`]) {
      const text = await readFile(join(home, path)).catch(unlessMissing);
      const mtimeMs = journal?.mtimeMs ?? 0;
      if (text !== undefined) files.push({ path, file: { bytes: text.length, mtimeMs, content: [text] } });
    }
    const error = loaded instanceof HaloError ? loaded : undefined;
    return { runId, state, error, files, more: state && (await also(state)) };
  };
  return lockRun(paths, cut).catch((error: unknown) => {
    if (error instanceof HaloError && error.code === 'RUN_NOT_FOUND') return undefined;
    throw error;
  });
}

/** Written under the lock of the run, from its journal. The checkpoint is made again. */
const WITH_JOURNAL = ['run.json', 'progress.md', 'history.md'];

/**
 * The other files of a run. `artifacts`: whether what retention may remove is among them. Files that end their life while
 * others are saved are replaced by others, so look again after a missing one.
 */
export async function findRunFiles(
  home: string,
  runId: string,
  { artifacts }: { artifacts: boolean },
): Promise<FoundFiles> {
  const dir = `runs/${runId}/`;
  const { files, strange } = await findFiles(home, dir.slice(0, -1));
  const isOther = (path: string) => {
    const name = path.slice(dir.length);
    if (name === 'journal.jsonl' || WITH_JOURNAL.includes(name) || name.startsWith('checkpoints/')) return false;
    return artifacts || !isArtifact(name);
  };
  return { files: files.filter(isOther), strange };
}
