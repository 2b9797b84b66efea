import type { RunRepo } from '../core/journal/events.ts';
import { mirrorPath } from '../git/mirror/mirror.ts';
import { inspectRepo } from '../git/repository/inspect-repo.ts';
import { isUrl } from '../git/repository/repo-url.ts';

/** The repository in which a run's branch lands: the user's own, or the mirror when the source is a URL. */
export async function hostGitDirOf(home: string, repo: RunRepo): Promise<string> {
  if (isUrl(repo.source)) return mirrorPath(home, repo.mirror);
  return (await inspectRepo(repo.source)).gitDir;
}
