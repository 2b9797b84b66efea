import { lstat } from 'node:fs/promises';
import { join } from 'node:path';
import { HaloError } from '../../core/failure/errors.ts';
import { printableShellWord } from '../../core/text/safe-text.ts';
import { git } from '../process/git.ts';

/** The prefix of run branches; git allows no branch with exactly this name next to them. */
const FOLDER = 'halo';

/** Throws LAND_REFUSED if a branch name prevents git from creating `halo/<runId>`. */
export async function assertRunBranchesAllowed(gitDir: string): Promise<void> {
  const found = await git(['show-ref', '--verify', '--quiet', `refs/heads/${FOLDER}`], { gitDir, ok: [0, 1] });
  if (found.exitCode !== 0) return assertFolders(gitDir);
  throw new HaloError(
    'LAND_REFUSED',
    `${gitDir} has a branch named ${FOLDER}: git cannot create ${FOLDER}/<runId>, the branch of a run, next to it.`,
    { hint: `Rename it: git branch -m ${FOLDER} <another name>.` },
  );
}

/** A broken branch of this name, or the log of a removed one, is a file where git needs a folder. */
async function assertFolders(gitDir: string): Promise<void> {
  for (const folder of ['refs/heads', 'logs/refs/heads']) {
    const path = join(gitDir, folder, FOLDER);
    const found = await lstat(path).catch(() => undefined);
    if (found === undefined || found.isDirectory()) continue;
    throw new HaloError(
      'LAND_REFUSED',
      `${path} is not a folder: git cannot create ${FOLDER}/<runId>, the branch of a run, in it.`,
      { hint: `Check it, and remove it: rm ${printableShellWord(path)}.` },
    );
  }
}
