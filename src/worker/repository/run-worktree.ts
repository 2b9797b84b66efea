import { realpath } from 'node:fs/promises';
import { join } from 'node:path';
import { HaloError } from '../../core/failure/errors.ts';
import { inspectRunRepo } from './run-repository.ts';
import { isUrl } from '../../git/repository/repo-url.ts';
import { checkOutWorktree } from '../../git/repository/worktrees.ts';
import type { RunKeeper } from '../worker-context.ts';

/**
 * Checks out what a run landed as a worktree of the user's repository, below HALO_HOME. HEAD is detached, so that the run's
 * branch can still move. Returns the path; undefined if nothing landed. Safe to repeat. Throws LAND_REFUSED and GIT_FAILED.
 */
export async function createRunWorktree(
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
  const { gitDir } = await inspectRunRepo(repo);
  const path = join(await realpath(home), 'worktrees', runId);
  await checkOutWorktree({ gitDir, commit: tip, path });
  return path;
}
