import { relative } from 'node:path';
import type { Flag } from '../../../core/review/flags.ts';
import { HaloError } from '../../../core/failure/errors.ts';
import { createBranch } from '../../../git/land/fast-forward.ts';
import type { RepoInfo } from '../../../git/repository/inspect-repo.ts';
import { restoreStash, stashChanges } from '../../../git/repository/stash.ts';
import type { Operations } from '../../operations.ts';
import { taskName } from './run-folder.ts';

interface TaskLanding {
  operations: Operations;
  runId: string;
  taskId: string;
  commit: string;
  repo: RepoInfo;
  /** The tasks file. It stores progress and is not changed by landing. */
  tasksFile: string;
  /** What the result may be flagged for. */
  confirm: Flag[] | undefined;
  log: (line: string) => Promise<void>;
}

/**
 * Sets the branch `ralph/<task>` to the result of a task, and fast-forwards the checked-out branch to it. Uncommitted
 * changes are stashed meanwhile. Throws LAND_REFUSED and UNCONFIRMED; then only the task's own branch has moved.
 */
export async function landTask({
  operations,
  runId,
  taskId,
  commit,
  repo,
  tasksFile,
  confirm,
  log,
}: TaskLanding): Promise<void> {
  const branch = `ralph/${taskName(taskId)}`;
  await createBranch({ root: repo.root, gitDir: repo.gitDir, branch, commit }).catch(async (error: unknown) => {
    if (!(error instanceof HaloError)) throw error;
    await log(`the branch ${branch} stays as it is: ${error.message}`);
  });
  const except = [relative(repo.root, tasksFile)].filter((path) => !path.startsWith('..'));
  const message = `halo: aside while task ${taskId} lands`;
  const stash = await stashChanges(repo.root, { except, message });
  if (stash !== undefined) await log(`uncommitted changes are put aside: git stash, ${stash.commit.slice(0, 7)}`);
  try {
    const landed = await operations.land({ runId, confirm, commit });
    await log(`${landed.branch} is at ${landed.to.slice(0, 7)}`);
  } finally {
    if (stash !== undefined && !(await restoreStash(stash)))
      await log(
        `the uncommitted changes do not fit to what has landed; they are in git stash as ${stash.commit.slice(0, 7)}`,
      );
  }
}
