import { mkdtemp, open, readdir, rename, rm, rmdir, statfs, type FileHandle } from 'node:fs/promises';
import { constants } from 'node:fs';
import { hostname } from 'node:os';
import { dirname, join } from 'node:path';
import { HaloError, toHaloError } from '../../../core/failure/errors.ts';
import { isOver } from '../../../core/run/questions.ts';
import { isUrl } from '../../../git/repository/repo-url.ts';
import { failpoint } from '../../../lib/failpoint.ts';
import { createFolders, pathExists, readFolder, readIfExists, syncPath } from '../../../lib/fs.ts';
import { isOrphaned, processMark } from '../../../lib/process-identity.ts';
import { formatSize } from '../../../lib/units.ts';
import { HOME_ID, RESTORED } from '../../../queue/redis/connect-redis.ts';
import { withDiskErrors } from '../../../store/disk-errors.ts';
import { loadRun } from '../../../store/journal/load-run.ts';
import { runPaths } from '../../../store/run-layout.ts';
import { damaged, whyTakeOver, type BackupHeader } from '../core/archive.ts';
import { parsePackedRefs, unpackRepository } from '../git/packed-repository.ts';
import { listRuns } from '../store/read-home.ts';
import { readArchive } from '../store/read-archive.ts';

export interface RestoreRequest {
  /** HALO_HOME, absolute. */
  home: string;
  /** The operator confirms that the original has stopped for good. */
  takeOver: boolean;
  signal: AbortSignal;
  /** Called for each file, with the bytes so far. */
  onProgress: (bytes: number) => void;
}

/** What was restored. */
export interface RestoreReport {
  header: BackupHeader;
  files: number;
  bytes: number;
  runs: number;
  /** Of these, runs that have not ended and continue when a worker starts. */
  open: number;
  /** Repositories of open runs that are not on this machine. */
  missing: string[];
}

/**
 * Restores a backup into an empty HALO_HOME. Nothing has its name there before everything is verified. Throws USAGE for a
 * folder that is not empty, CONTROL_REFUSED without `takeOver` where the original may still run, and like `readArchive`.
 */
export async function restoreBackup(
  source: AsyncIterable<Uint8Array>,
  request: RestoreRequest,
): Promise<RestoreReport> {
  const { home } = request;
  return withDiskErrors(home, async () => {
    await createFolders(home, 0o700);
    await assertEmpty(home);
    const aside = await mkdtemp(join(home, `${TEMPORARY}${processMark()}-`));
    try {
      const report = await fill(aside, source, request);
      await syncFolders(aside);
      await failpoint('restore.verified');
      if (request.signal.aborted) throw new HaloError('RUN_ABORTED', 'The restore was stopped.');
      await assertEmpty(home);
      // From here on, any process can finish it.
      await rename(aside, join(home, RESTORED));
      await syncPath(home);
      await finishRestore(home);
      return report;
    } catch (error) {
      await rm(aside, { recursive: true, force: true });
      throw error;
    }
  });
}

/** Verifies a backup without restoring it; returns its header and what it has. Throws like `readArchive`. */
export async function checkBackup(
  source: AsyncIterable<Uint8Array>,
  { signal, onProgress }: Pick<RestoreRequest, 'signal' | 'onProgress'>,
): Promise<Pick<RestoreReport, 'header' | 'files' | 'bytes'>> {
  let bytes = 0;
  const onFile = async (_file: unknown, content: AsyncIterable<Buffer>) => {
    for await (const chunk of content) bytes += chunk.length;
    onProgress(bytes);
  };
  return readArchive(source, { onHeader: () => undefined, onFile }, signal);
}

/** A sweep of workers removes it as well if its process dies. */
const TEMPORARY = 'restore.new-';

/** Removes what killed restores left. Throws USAGE if anything else is in the folder. */
async function assertEmpty(home: string): Promise<void> {
  for (const name of await readdir(home)) {
    if (!name.startsWith(TEMPORARY)) throw notEmpty(home, name);
    const mark = name.slice(TEMPORARY.length).replace(/-\w{6}$/, '');
    if (isOrphaned(mark, Date.now())) await rm(join(home, name), { recursive: true, force: true });
  }
}

function notEmpty(home: string, name: string): HaloError {
  return new HaloError('USAGE', `${home} is not empty: it has ${JSON.stringify(name)}.`, {
    hint: 'Restore into a new folder: `halo restore <file> --home <folder>`. Then stop halo, and use that folder as HALO_HOME.',
  });
}

/** Whether a restore was killed after everything was verified. */
export async function isHalfRestored(home: string): Promise<boolean> {
  return pathExists(join(home, RESTORED));
}

/** Gives what was restored and verified its names, the id last: without it, halo does not use the folder. */
export async function finishRestore(home: string): Promise<void> {
  const from = join(home, RESTORED);
  await withDiskErrors(home, async () => {
    const names = (await readFolder(from)).filter((name) => name !== 'id');
    for (const name of [...names, 'id']) {
      await rename(join(from, name), join(home, name));
      await failpoint('restore.moving');
    }
    await rmdir(from);
    await syncPath(home);
  });
}

async function fill(
  dir: string,
  source: AsyncIterable<Uint8Array>,
  { takeOver, signal, onProgress }: RestoreRequest,
): Promise<RestoreReport> {
  const space = await statfs(dir);
  const room = Math.max(0, space.bavail * space.bsize - RESERVED_BYTES);
  let taken = 0;
  let read = 0;
  const { header, files, bytes } = await readArchive(
    source,
    {
      onHeader: async (found) => {
        const why = whyTakeOver(found, { host: hostname(), hasOriginal: await hasOriginal(found) });
        if (why !== undefined && !takeOver) throw mayStillRun(found, why);
      },
      onFile: async (file, content) => {
        taken += Math.max(file.bytes, BLOCK_BYTES);
        if (taken > room)
          throw new HaloError(
            'DISK_FAILED',
            `The backup has more than the ${formatSize(room)} that are free for ${dirname(dir)}.`,
            {
              hint: 'Restore to a larger disk.',
            },
          );
        await writeFile(join(dir, file.path), file, content);
        read += file.bytes;
        onProgress(read);
      },
    },
    signal,
  );
  const id = (await readIfExists(join(dir, 'id')))?.trim();
  if (id === undefined || !HOME_ID.test(id) || id !== header.home.id) throw damaged('its id is missing');
  for (const name of await readFolder(join(dir, 'repos'))) await restoreRepository(dir, name, signal);
  return { header, files, bytes, ...(await lookAtRuns(dir)) };
}

/** What stays free, in bytes. */
const RESERVED_BYTES = 64 * 1024 * 1024;
/** What a small file takes. */
const BLOCK_BYTES = 4096;

async function hasOriginal({ home: { id, path } }: BackupHeader): Promise<boolean> {
  return (await readIfExists(join(path, 'id')).catch(() => undefined))?.trim() === id;
}

function mayStillRun({ home }: BackupHeader, why: string): HaloError {
  return new HaloError('CONTROL_REFUSED', `The original of this backup may still run: ${why}.`, {
    hint: `Stop halo on ${home.host} for good, then add --take-over: two servers with one HALO_HOME would execute the same runs.`,
  });
}

const { O_CREAT, O_EXCL, O_NOFOLLOW, O_WRONLY } = constants;

async function writeFile(
  path: string,
  { mtimeMs }: { mtimeMs: number },
  content: AsyncIterable<Buffer>,
): Promise<void> {
  const file = await createFile(path).catch((error: unknown) => {
    const { code = '' } = error as NodeJS.ErrnoException;
    throw ['EEXIST', 'EISDIR', 'ENOTDIR'].includes(code) ? damaged('it has a file twice', error) : error;
  });
  try {
    for await (const chunk of content) await file.writeFile(chunk);
    await file.utimes(mtimeMs / 1000, mtimeMs / 1000);
    await file.sync();
  } finally {
    await file.close();
  }
}

async function createFile(path: string): Promise<FileHandle> {
  await createFolders(dirname(path), 0o700);
  return open(path, O_WRONLY | O_CREAT | O_EXCL | O_NOFOLLOW, 0o600);
}

/** Creates the repositories that were packed; without a list of refs, git could not pack them. */
async function restoreRepository(home: string, name: string, signal: AbortSignal): Promise<void> {
  const dir = join(home, 'repos', name);
  const text = await readIfExists(join(dir, 'refs.json'));
  if (text === undefined) return rm(dir, { recursive: true });
  const refs = parsePackedRefs(text);
  if (refs === undefined) throw damaged(`the refs of repos/${name} cannot be read`);
  await unpackRepository({ home, name }, refs, signal).catch((error: unknown) => {
    const { code, message } = toHaloError(error);
    throw code === 'GIT_FAILED' ? damaged(`git refuses repos/${name} (${message})`, error) : error;
  });
  await rm(join(dir, 'refs.json'));
}

async function lookAtRuns(home: string): Promise<Pick<RestoreReport, 'runs' | 'open' | 'missing'>> {
  const runIds = await listRuns(home);
  let open = 0;
  const missing = new Set<string>();
  for (const runId of runIds) {
    const state = await loadRun(runPaths(home, runId)).then(
      (loaded) => loaded.state,
      (error: unknown) => {
        if (toHaloError(error).code !== 'RUN_UNREADABLE') throw error;
      },
    );
    if (state !== undefined && isOver(state)) continue;
    open += 1;
    if (state === undefined || isUrl(state.repo.source) || state.scratch) continue;
    if (!(await pathExists(state.repo.source))) missing.add(state.repo.source);
  }
  return { runs: runIds.length, open, missing: [...missing] };
}

async function syncFolders(dir: string): Promise<void> {
  for (const entry of await readdir(dir, { withFileTypes: true }))
    if (entry.isDirectory()) await syncFolders(join(dir, entry.name));
  await syncPath(dir);
}
