import { HaloError } from '../../core/failure/errors.ts';
import { git } from '../process/git.ts';

/** The prefix of run branches; git allows no branch with exactly this name next to them. */
const FOLDER = 'halo';

/** Throws LAND_REFUSED if a branch name prevents git from creating `halo/<runId>`. */
export async function assertRunBranchesAllowed(gitDir: string): Promise<void> {
  const found = await git(['show-ref', '--verify', '--quiet', `refs/heads/${FOLDER}`], { gitDir, ok: [0, 1] });
  if (found.exitCode !== 0) return;
  throw new HaloError(
    'LAND_REFUSED',
    `${gitDir} has a branch named ${FOLDER}: git cannot create ${FOLDER}/<runId>, the branch of a run, next to it.`,
    { hint: `Rename it: git branch -m ${FOLDER} <another name>.` },
  );
}
