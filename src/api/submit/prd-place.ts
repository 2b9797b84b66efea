import { lstat, realpath } from 'node:fs/promises';
import { relative, resolve, sep } from 'node:path';
import type { PrdBytes } from '../operations.ts';
import { isFileHere } from './prd-file-here.ts';

/** What halo may do with the PRD file of a run, besides reading what was sent. */
export interface PrdPlace {
  /** As the run keeps it. */
  path: string;
  /** Whether it is a file of this machine, as it was sent, that belongs to the run. */
  isHere: boolean;
  /** Whether what lands may be marked in it. */
  mayMark: boolean;
  /** For people: what is marked that they might not expect, or what is not. */
  warning?: string;
}

/**
 * Whose file a PRD is. In a repository it belongs to the run. Elsewhere it may be anybody's: a request over the network
 * names no file of its own there, and a person on this machine only one of theirs.
 */
export async function placePrd(prd: PrdBytes, { root, remote }: { root: string; remote: boolean }): Promise<PrdPlace> {
  const { path } = prd;
  const file = (await isFileHere(prd)) ? await realpath(path) : undefined;
  const isOwn = file !== undefined && (await liesIn(file, root));
  if (file === undefined || isOwn || remote) return { path, isHere: isOwn, mayMark: isOwn };
  // A link in the repository that leads to it may lead elsewhere later.
  const place = { path: (await liesIn(path, root)) ? file : path, isHere: true };
  const who = process.geteuid?.();
  return who === undefined || (await lstat(file)).uid === who
    ? { ...place, mayMark: true, warning: `what lands is marked in ${file}, which is not in the repository` }
    : { ...place, mayMark: false, warning: `what lands is not marked in ${file}, which belongs to another user` };
}

/** Whether a path is below a folder and in no git directory of it. */
export async function liesIn(file: string, folder: string): Promise<boolean> {
  const top = await realpath(folder).catch(() => resolve(folder));
  const parts = relative(top, file).split(sep);
  return parts[0] !== '' && parts[0] !== '..' && !parts.includes('.git');
}
