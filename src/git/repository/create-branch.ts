import { syncRef } from './sync-repository.ts';
import { fastForward } from '../land/fast-forward.ts';
import { HALO_IDENTITY } from '../process/environment.ts';
import { git } from '../process/git.ts';
import { readRef } from '../land/land-commit.ts';
import { zeroId } from '../process/object-id.ts';

export interface BranchRequest {
  root: string;
  gitDir: string;
  /** Short name of the branch. */
  branch: string;
  commit: string;
}

/** Creates a branch at a commit, or fast-forwards it. Throws LAND_REFUSED if it has other commits. */
export async function createBranch({ root, gitDir, branch, commit }: BranchRequest): Promise<void> {
  const ref = `refs/heads/${branch}`;
  if ((await readRef(gitDir, ref)) !== undefined) {
    await fastForward({ root, gitDir, branch, to: commit });
    return;
  }
  const args = ['update-ref', '--no-deref', '-m', 'halo: task completed', ref, commit, zeroId(commit)];
  await git(args, { gitDir, env: HALO_IDENTITY, durable: true });
  await syncRef(gitDir, ref);
}
