import { HaloError } from '../core/failure/errors.ts';
import { git } from './process/git.ts';

/** The branches of runs are below this name, so that no branch may have it. */
const FOLDER = 'halo';

/** Throws LAND_REFUSED where a branch keeps git from making those of runs, `halo/<runId>`. */
export async function refuseBlockedBranches(gitDir: string): Promise<void> {
  const found = await git(['show-ref', '--verify', '--quiet', `refs/heads/${FOLDER}`], { gitDir, ok: [0, 1] });
  if (found.exitCode !== 0) return;
  throw new HaloError(
    'LAND_REFUSED',
    `${gitDir} has a branch named ${FOLDER}: git cannot have ${FOLDER}/<runId>, the branch of a run, beside it.`,
    { hint: `Rename it: git branch -m ${FOLDER} <another name>.` },
  );
}
