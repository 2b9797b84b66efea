import type { RunRepo } from '../../core/journal/run-created.ts';
import { inspectRepo, requireGitDir, type RepoInfo } from '../../git/repository/inspect-repo.ts';
import { requireSamePlaces } from '../../git/repository/repository-places.ts';

/** The parts of a run's repository that say which one it is. */
type Submitted = Pick<RunRepo, 'source' | 'places'>;

/**
 * Inspects the repository of a run, as `inspectRepo`. Throws NOT_A_GIT_REPO also if it uses files of other repositories than
 * when the run was submitted.
 */
export async function inspectRunRepo({ source, places }: Submitted): Promise<RepoInfo> {
  await requireSamePlaces(source, places);
  return inspectRepo(source);
}

/** Its common git directory. Throws like `inspectRunRepo`. */
export async function requireRunGitDir({ source, places }: Submitted): Promise<string> {
  return (await requireSamePlaces(source, places)) ?? requireGitDir(source);
}
