import { syncRef } from './sync-repository.ts';
import { fastForward } from '../land/fast-forward.ts';
import { git } from '../process/git.ts';
import { readRef } from '../land/land-commit.ts';
import { zeroId } from '../process/object-id.ts';

export interface NameRequest {
  root: string;
  gitDir: string;
  /** Short name of the branch. */
  branch: string;
  commit: string;
}

/** Makes a branch at a commit, or moves it forward to it. Throws LAND_REFUSED where that would lose something. */
export async function nameCommit({ root, gitDir, branch, commit }: NameRequest): Promise<void> {
  const ref = `refs/heads/${branch}`;
  if ((await readRef(gitDir, ref)) !== undefined) {
    await fastForward({ root, gitDir, branch, to: commit });
    return;
  }
  const env = { GIT_COMMITTER_NAME: 'halo', GIT_COMMITTER_EMAIL: 'halo@localhost' };
  const args = ['update-ref', '--no-deref', '-m', 'halo: task completed', ref, commit, zeroId(commit)];
  await git(args, { gitDir, env, durable: true });
  await syncRef(gitDir, ref);
}
