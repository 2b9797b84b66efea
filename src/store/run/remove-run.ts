import { randomBytes } from 'node:crypto';
import { lstat, mkdir, readdir, rename, rm, rmdir, unlink } from 'node:fs/promises';
import { join } from 'node:path';
import { HaloError, toHaloError } from '../../core/failure/errors.ts';
import type { RunState } from '../../core/run/state.ts';
import { failpoint } from '../../lib/failpoint.ts';
import { readFolder, syncPath } from '../../lib/fs.ts';
import { unlessMissing, withDiskErrors } from '../disk-errors.ts';
import { loadRun, lockRun } from '../journal/load-run.ts';
import type { OpenRuns } from '../open-runs.ts';
import { runPaths, runsFolder, type RunPaths } from '../run-layout.ts';

/** Prefix of folders of removed runs and mirrors whose files still exist. */
export const REMOVED = '.removed-';
/** The proof of a landed commit, which `halo verify` reads: it stays when the other artifacts go. */
const PROOF = 'proof.json';

/** The sizes of a run directory, in bytes. */
interface RunBytes {
  artifacts: number;
  other: number;
}

/**
 * Measures a run directory. Links are not followed. Throws RUN_UNREADABLE if the path is a link or a file: what it leads to
 * is not halo's.
 */
export async function measureRun(home: string, runId: string): Promise<RunBytes> {
  const paths = runPaths(home, runId);
  return withDiskErrors(paths.dir, async () => {
    await assertRealFolder(paths);
    const all = await measureFolder(paths.dir);
    let artifacts = 0;
    for (const path of [paths.artifacts, paths.bundle, paths.raw, paths.log]) artifacts += await measure(path, isProof);
    return { artifacts, other: all - artifacts };
  });
}

/**
 * Removes the artifacts of an ended run, except the records of its commits. Its journal and reports stay. Safe to repeat
 * after a crash. Returns false if the run has been reopened.
 */
export async function removeArtifacts(home: string, runId: string): Promise<boolean> {
  const paths = runPaths(home, runId);
  return withDiskErrors(paths.dir, async () => {
    await assertRealFolder(paths);
    return lockRun(paths, async () => {
      if ((await loadRun(paths)).state.status !== 'ended') return false;
      for (const path of [paths.raw, paths.log]) await rm(path, { force: true, recursive: true });
      for (const path of [paths.artifacts, paths.bundle]) {
        await emptyFolder(path, path === paths.artifacts ? isProof : () => false);
        await mkdir(path, { mode: 0o700 }).catch(unlessExists);
      }
      await syncPath(paths.dir);
      return true;
    });
  });
}

interface WholeRemoval {
  openRuns: OpenRuns;
  /** Decides under the lock of the run whether it may still be removed, and removes what depends on it. */
  release: (state: RunState) => Promise<boolean>;
}

/** Removes the directory of an ended run: it disappears immediately, its files afterwards. Returns false if it stays. */
export async function removeRun(home: string, runId: string, { openRuns, release }: WholeRemoval): Promise<boolean> {
  const paths = runPaths(home, runId);
  const aside = join(runsFolder(home), `${REMOVED}${runId}-${randomBytes(4).toString('hex')}`);
  return withDiskErrors(paths.dir, async () => {
    await assertRealFolder(paths);
    const isRemoved = await lockRun(paths, async () => {
      const { state } = await loadRun(paths);
      if (state.status !== 'ended' || !(await release(state))) return false;
      await rename(paths.dir, aside);
      await syncPath(runsFolder(home));
      return true;
    });
    if (!isRemoved) return false;
    await failpoint('prune.moved');
    await openRuns.remove(runId);
    await rm(aside, { recursive: true, force: true });
    return true;
  });
}

/** Removes the files of removed runs whose process died before it could. Returns those that it cannot remove. */
export async function finishRemovals(home: string): Promise<{ runId: string; error: HaloError }[]> {
  const failed = await removeLeftovers(runsFolder(home));
  return failed.map(({ name, error }) => ({ runId: name.replace(/-[0-9a-f]+$/, ''), error }));
}

/** Removes the folders below `dir` that were renamed to be removed. Returns those that it cannot remove, without prefix. */
export async function removeLeftovers(dir: string): Promise<{ name: string; error: HaloError }[]> {
  const failed: { name: string; error: HaloError }[] = [];
  const names = await withDiskErrors(dir, () => readFolder(dir));
  for (const name of names.filter((each) => each.startsWith(REMOVED))) {
    const path = join(dir, name);
    await withDiskErrors(path, () => rm(path, { recursive: true, force: true })).catch((error: unknown) => {
      failed.push({ name: name.slice(REMOVED.length), error: toHaloError(error) });
    });
  }
  return failed;
}

/** The size of a folder with everything below it, in bytes; links are not followed. 0 if it does not exist. */
export async function measureFolder(path: string): Promise<number> {
  return measure(path, () => false);
}

async function assertRealFolder({ dir }: RunPaths): Promise<void> {
  const found = await lstat(dir).catch(unlessMissing);
  if (found === undefined) throw new HaloError('RUN_NOT_FOUND', `There is no run directory ${dir}.`);
  if (found.isDirectory()) return;
  throw new HaloError('RUN_UNREADABLE', `${dir} is not a folder: retention does not follow links.`, {
    hint: 'Find out who replaced it, and remove it yourself.',
  });
}

async function measure(path: string, isExcluded: (name: string) => boolean): Promise<number> {
  const found = await lstat(path).catch(unlessMissing);
  if (found === undefined) return 0;
  if (!found.isDirectory()) return found.size;
  let bytes = 0;
  for (const entry of await readdir(path, { withFileTypes: true }).catch(noneIfMissing))
    if (!(entry.isFile() && isExcluded(entry.name))) bytes += await measure(join(path, entry.name), isExcluded);
  return bytes;
}

/** Removes what is below a folder, or the path itself if it is not a folder. Only files may be kept. */
async function emptyFolder(path: string, isKept: (name: string) => boolean): Promise<void> {
  const found = await lstat(path).catch(unlessMissing);
  if (found === undefined) return;
  if (!found.isDirectory()) return unlink(path);
  for (const entry of await readdir(path, { withFileTypes: true })) {
    const below = join(path, entry.name);
    if (entry.isDirectory()) {
      await emptyFolder(below, isKept);
      await rmdir(below).catch(unlessNotEmpty);
    } else if (!(entry.isFile() && isKept(entry.name))) await unlink(below);
  }
}

function isProof(name: string): boolean {
  return name === PROOF;
}

function noneIfMissing(error: unknown): [] {
  unlessMissing(error);
  return [];
}

function unlessExists(error: unknown): void {
  if ((error as NodeJS.ErrnoException).code !== 'EEXIST') throw error;
}

function unlessNotEmpty(error: unknown): void {
  if ((error as NodeJS.ErrnoException).code !== 'ENOTEMPTY') throw error;
}
