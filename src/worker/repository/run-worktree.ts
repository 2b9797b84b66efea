import { realpath } from 'node:fs/promises';
import { join } from 'node:path';
import { HaloError } from '../../core/failure/errors.ts';
import { inspectRepo } from '../../git/repository/inspect-repo.ts';
import { isUrl } from '../../git/repository/repo-url.ts';
import { checkOutAside } from '../../git/repository/worktrees.ts';
import type { RunKeeper } from '../worker-context.ts';

/**
 * Shows what a run landed in a worktree of the user's repository, below HALO_HOME. Detached, so that the branch of the
 * run stays free for what may still land on it. Answers with its path; undefined: nothing landed. Safe to repeat.
 * Throws LAND_REFUSED, and GIT_FAILED.
 */
export async function checkOutRun(
  { home, store }: Pick<RunKeeper, 'home' | 'store'>,
  runId: string,
): Promise<string | undefined> {
  const { repo, tip } = await store.readState(runId);
  if (tip === repo.base) return undefined;
  if (isUrl(repo.source)) {
    throw new HaloError('LAND_REFUSED', `${repo.source} is not on this machine: it can have no worktree here.`, {
      hint: `Fetch the branch halo/${runId} from its mirror, or use [land] mode = "branch".`,
    });
  }
  const { gitDir } = await inspectRepo(repo.source);
  const path = join(await realpath(home), 'worktrees', runId);
  await checkOutAside({ gitDir, commit: tip, path });
  return path;
}
