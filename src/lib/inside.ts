import { lstat, realpath } from 'node:fs/promises';
import { basename, dirname, join, relative, sep } from 'node:path';

/**
 * Whether a path, which need not be there yet, is in a folder, links followed: a file that is written there is in the
 * folder, too. A link to nothing counts as outside.
 */
export async function isInside(folder: string, path: string): Promise<boolean> {
  const [root, real] = await Promise.all([realpath(folder), resolveExisting(path)]);
  if (real === undefined) return false;
  const way = relative(root, real);
  return way !== '..' && !way.startsWith(`..${sep}`);
}

/** Whether a path that is called as if it were in a folder is, by a link, somewhere else. */
export async function leadsOut(folder: string, path: string): Promise<boolean> {
  const way = relative(folder, path);
  const isCalledInside = way !== '..' && !way.startsWith(`..${sep}`);
  return isCalledInside && !(await isInside(folder, path));
}

/** The path without links, as far as it is there; undefined where it ends at a link to nothing. */
async function resolveExisting(path: string): Promise<string | undefined> {
  try {
    return await realpath(path);
  } catch (error) {
    if ((error as NodeJS.ErrnoException).code !== 'ENOENT' || path === dirname(path)) throw error;
    if (await isLink(path)) return undefined;
    const parent = await resolveExisting(dirname(path));
    return parent === undefined ? undefined : join(parent, basename(path));
  }
}

async function isLink(path: string): Promise<boolean> {
  return lstat(path).then(
    (found) => found.isSymbolicLink(),
    () => false,
  );
}
