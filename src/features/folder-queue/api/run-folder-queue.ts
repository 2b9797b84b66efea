import { realpath, stat } from 'node:fs/promises';
import { HaloError } from '../../../core/failure/errors.ts';
import { inspectRepo } from '../../../git/repository/inspect-repo.ts';
import { isUrl } from '../../../git/repository/repo-url.ts';
import { LockBusyError, withLock } from '../../../lib/lock.ts';
import { FolderQueue, type FolderQueueOptions, type FolderResult } from './folder-queue.ts';
import { FolderRecords } from './folder-records.ts';

export type FolderRequest = Omit<FolderQueueOptions, 'records' | 'head'>;

/** Runs the PRDs of a folder; only one process at a time does. Throws PRD_UNREADABLE, USAGE, and errors of a submit. */
export async function runFolderQueue(home: string, request: FolderRequest): Promise<FolderResult> {
  const folder = await resolveFolder(request.folder);
  const records = new FolderRecords(home, folder);
  await records.open();
  const head = async () => (isUrl(request.repo) ? undefined : (await inspectRepo(request.repo)).head);
  const work = () => new FolderQueue({ ...request, folder, records, head }).run();
  const lock = `${records.dir}.lock`;
  try {
    return await withLock(lock, work, { waitMs: 1000 });
  } catch (error) {
    if (!(error instanceof LockBusyError) || error.path !== lock) throw error;
    throw new HaloError('USAGE', `Another process (${error.owner}) runs the PRDs in ${folder}.`, {
      hint: 'Stop it first, or let it continue.',
      cause: error,
    });
  }
}

/** The real path of a folder. Throws PRD_UNREADABLE. */
export async function resolveFolder(folder: string): Promise<string> {
  const found = await stat(folder).catch(() => undefined);
  if (found?.isDirectory() !== true)
    throw new HaloError(
      'PRD_UNREADABLE',
      found === undefined ? `There is no folder ${folder}.` : `${folder} is not a folder.`,
      {
        hint: 'Pass a folder with PRDs; a single PRD is for `halo submit`.',
      },
    );
  return realpath(folder);
}
