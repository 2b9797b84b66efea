import { realpath } from 'node:fs/promises';
import { dirname, join } from 'node:path';
import { HaloError } from '../../core/failure/errors.ts';
import { pathExists } from '../../lib/fs.ts';

/**
 * Returns the arguments that allow git to use a bare repository at `folder`; empty for a checkout. Throws NOT_A_GIT_REPO
 * for a bare repository inside a checkout: it may be part of the checked-out files, and git would run the programs that
 * its settings name.
 */
export async function allowBareRepository(folder: string): Promise<string[]> {
  const bare = await findBare(await realpath(folder));
  if (bare === undefined) return [];
  // A repository inside a .git folder is not part of the checked-out files.
  const outer = bare.split('/').includes('.git') ? undefined : await findCheckout(dirname(bare));
  if (outer === undefined) return ['-c', 'safe.bareRepository=all'];
  throw new HaloError('NOT_A_GIT_REPO', `${bare} looks like a bare repository, but is inside the checkout ${outer}.`, {
    hint: `Use ${outer}, or a folder in it that is not a repository. If you trust ${bare}, use file://${bare}.`,
  });
}

/** Finds the nearest folder upwards that git treats as a bare repository; undefined if a checkout is nearer. */
async function findBare(folder: string): Promise<string | undefined> {
  if (await pathExists(join(folder, '.git'))) return undefined;
  if (await isBare(folder)) return folder;
  return folder === dirname(folder) ? undefined : findBare(dirname(folder));
}

/** Whether git treats a folder as a git directory. */
export async function isBare(folder: string): Promise<boolean> {
  const [head, common, ...parts] = await Promise.all(
    ['HEAD', 'commondir', 'objects', 'refs'].map((name) => pathExists(join(folder, name))),
  );
  return head === true && (common === true || !parts.includes(false));
}

/** Finds the nearest folder upwards that has a `.git`. */
export async function findCheckout(folder: string): Promise<string | undefined> {
  if (await pathExists(join(folder, '.git'))) return folder;
  return folder === dirname(folder) ? undefined : findCheckout(dirname(folder));
}
