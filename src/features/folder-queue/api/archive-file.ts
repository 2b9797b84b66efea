import { link, lstat, mkdir, rename, unlink } from 'node:fs/promises';
import { dirname, join, parse } from 'node:path';
import { HaloError } from '../../../core/failure/errors.ts';
import { pathExists, readRegularFile, syncPath } from '../../../lib/fs.ts';
import { MAX_PRD_BYTES } from '../../../prd/decode-prd.ts';
import { parsePrd } from '../../../prd/parse-prd.ts';
import { DONE_FOLDER } from '../../../worker/repository/marked-prds.ts';

/** A free path for a finished PRD: `done/001.json`, else `done/001.2.json`. Throws USAGE if `done` is not a folder. */
export async function chooseArchivePath(folder: string, name: string): Promise<string> {
  const done = join(folder, DONE_FOLDER);
  await mkdir(done).catch((error: NodeJS.ErrnoException) => {
    if (error.code !== 'EEXIST') throw error;
  });
  if (!(await lstat(done)).isDirectory())
    throw new HaloError('USAGE', `${done} is not a folder, so finished PRDs cannot be moved there.`, {
      hint: 'Remove it.',
    });
  const { name: stem, ext } = parse(name);
  for (let n = 1; ; n++) {
    const path = join(done, n === 1 ? name : `${stem}.${n}${ext}`);
    if (!(await pathExists(path))) return path;
  }
}

/**
 * Moves a file. Replaces nothing, and at every moment there is at least one complete copy. Safe to repeat after a crash;
 * returns false if there is nothing to move any more.
 */
export async function archiveFile(from: string, to: string): Promise<boolean> {
  const [source, target] = await Promise.all([from, to].map((path) => lstat(path).catch(() => undefined)));
  if (source === undefined) return target !== undefined;
  if (target === undefined) await linkOrRename(from, to);
  else if (target.ino !== source.ino || target.dev !== source.dev)
    throw new HaloError('DISK_FAILED', `${from} is not archived: ${to} was created in the meantime.`, {
      hint: `Move ${to} away, and start the queue again.`,
    });
  await syncPath(dirname(to));
  await unlink(from).catch((error: NodeJS.ErrnoException) => {
    if (error.code !== 'ENOENT') throw error;
  });
  await syncPath(dirname(from));
  return true;
}

/** A hard link never replaces a file. Some file systems have none. */
async function linkOrRename(from: string, to: string): Promise<void> {
  await link(from, to).catch(async (error: NodeJS.ErrnoException) => {
    if (!['EPERM', 'ENOTSUP', 'EOPNOTSUPP', 'ENOSYS', 'EMLINK'].includes(error.code ?? '')) throw error;
    await rename(from, to);
  });
}

/** Whether the stories of a PRD file differ from those that were submitted; marks of progress do not count. */
export async function isEdited(path: string, specHash: string): Promise<boolean> {
  const bytes = await readRegularFile(path, MAX_PRD_BYTES);
  try {
    return parsePrd(bytes, path).specHash !== specHash;
  } catch {
    return true;
  }
}
