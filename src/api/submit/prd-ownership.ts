import { lstat, realpath, rename, symlink, writeFile } from 'node:fs/promises';
import { dirname, isAbsolute, join, relative, resolve, sep } from 'node:path';
import type { PrdFile } from '../../core/prd/prd.ts';
import { folderOfNamedPrd, PRDS_GITIGNORE, RUN_FILES } from '../../core/prd/prd-names.ts';
import { readRegularFile } from '../../lib/fs.ts';
import { isFolderText, isSameFolder } from '../../prd/folder/folder-text.ts';
import { readPrdSource } from '../../prd/prd-source.ts';
import type { SubmitRequest } from '../operations/schemas.ts';

/** What halo may do with the PRD file of a run, in addition to reading what was sent. */
export interface PrdOwnership {
  /** The path that the run stores. */
  path: string;
  /** Whether it is a file on this machine with the content that was sent, and belongs to the run. */
  isHere: boolean;
  /** Whether passed stories may be marked in it. */
  mayMark: boolean;
  /** A warning about unexpected marks, or missing ones. */
  warning?: string;
}

/**
 * Decides to whom a PRD file belongs. In the repository, it belongs to the run. Elsewhere, a request over the network has no
 * files, and a user of this machine only their own.
 */
export async function resolvePrdOwnership(
  prd: PrdFile,
  { root, remote }: { root: string; remote: boolean },
): Promise<PrdOwnership> {
  const { path } = prd;
  const file = (await isFileHere(prd)) ? await realpath(path) : undefined;
  const isOwn = file !== undefined && (await liesIn(file, root));
  if (file === undefined || isOwn || remote) return { path, isHere: isOwn, mayMark: isOwn };
  // A link in the repository may later point to another file.
  const ownership = { path: (await liesIn(path, root)) ? file : path, isHere: true };
  const who = process.geteuid?.();
  return who === undefined || (await lstat(file)).uid === who
    ? { ...ownership, mayMark: true, warning: `what lands is marked in ${file}, which is not in the repository` }
    : { ...ownership, mayMark: false, warning: `what lands is not marked in ${file}, which belongs to another user` };
}

/** Whether a path is a folder or below it, but not in a git directory. */
async function liesIn(file: string, folder: string): Promise<boolean> {
  const top = await realpath(folder).catch(() => resolve(folder));
  const parts = relative(top, file).split(sep);
  return parts[0] !== '..' && !parts.includes('.git');
}

/**
 * Whether the PRD of a request is a file or folder on this machine with the same content. Only then may halo write progress into it:
 * a path from another machine may name a different file here.
 */
export async function isFileHere({ path, bytes }: SubmitRequest['prd']): Promise<boolean> {
  if (!isAbsolute(path)) return false;
  if (!isFolderText(bytes)) {
    const here = await readRegularFile(path, bytes.length).catch(() => undefined);
    return here !== undefined && here.equals(bytes);
  }
  const here = await readPrdSource(path).catch(() => undefined);
  return here !== undefined && isFolderText(here.bytes) && isSameFolder(here.bytes, bytes, path);
}

/**
 * Links the files of the newest run of a PRD into the folder of the PRD, and lets git ignore the links. Files that are not
 * links, and an existing .gitignore, are kept. Never throws, because a run does not need the links.
 */
export async function linkRunFiles(prdPath: string, runFolder: string): Promise<void> {
  const folder = folderOfNamedPrd(await realpath(prdPath).catch(() => prdPath));
  if (folder === undefined) return;
  await writeFile(join(dirname(folder), '.gitignore'), PRDS_GITIGNORE, { flag: 'wx' }).catch(() => undefined);
  await Promise.all(RUN_FILES.map((file) => link(join(runFolder, file), join(folder, file)).catch(() => undefined)));
}

async function link(target: string, path: string): Promise<void> {
  const there = await lstat(path).catch(() => undefined);
  if (there !== undefined && !there.isSymbolicLink()) return;
  const fresh = `${path}.${process.pid}.tmp`;
  await symlink(target, fresh);
  await rename(fresh, path);
}
