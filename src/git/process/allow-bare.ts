import { realpath, stat } from 'node:fs/promises';
import { dirname, join } from 'node:path';
import { HaloError } from '../../core/failure/errors.ts';

/**
 * The arguments with which git may work in a folder: a bare repository has to be allowed, because git takes any folder
 * for one that looks like it. One that lies in somebody's checkout came with its files, and git would run the programs
 * that its settings name. Throws NOT_A_GIT_REPO for that.
 */
export async function allowBare(folder: string): Promise<string[]> {
  const bare = await findBare(await realpath(folder));
  if (bare === undefined) return [];
  // What is in a .git is not among the files of the checkout.
  const outer = bare.split('/').includes('.git') ? undefined : await findCheckout(dirname(bare));
  if (outer === undefined) return ['-c', 'safe.bareRepository=all'];
  throw new HaloError('NOT_A_GIT_REPO', `${bare} looks like a bare repository, but lies in the checkout ${outer}.`, {
    hint: `Name ${outer}, or a folder of it that is no repository. If you trust what is in ${bare}, name it as file://${bare}.`,
  });
}

/** The folder, or the nearest one above it, that git takes for a bare repository; undefined: a checkout comes first. */
async function findBare(folder: string): Promise<string | undefined> {
  if (await exists(join(folder, '.git'))) return undefined;
  const [head, common, ...parts] = await Promise.all(
    ['HEAD', 'commondir', 'objects', 'refs'].map((name) => exists(join(folder, name))),
  );
  if (head && (common || !parts.includes(false))) return folder;
  return folder === dirname(folder) ? undefined : findBare(dirname(folder));
}

/** The folder, or the nearest one above it, that has a `.git`. */
export async function findCheckout(folder: string): Promise<string | undefined> {
  if (await exists(join(folder, '.git'))) return folder;
  return folder === dirname(folder) ? undefined : findCheckout(dirname(folder));
}

async function exists(path: string): Promise<boolean> {
  return stat(path).then(
    () => true,
    () => false,
  );
}
