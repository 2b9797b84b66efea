import type { Config } from '../../config/config.ts';
import type { RunRepo } from '../../core/journal/run-created.ts';
import type { SigningKey } from '../../git/commit/commit-signing.ts';
import { mirrorPath } from '../../git/mirror/mirror.ts';
import { findGitDir } from '../../git/repository/inspect-repo.ts';
import { isUrl } from '../../git/repository/repo-url.ts';

/** The ref of a run's branch in the host repository. */
export function runRef(runId: string): string {
  return `refs/heads/halo/${runId}`;
}

/** The git directory of the repository in which a run's branch lands: the user's own, or the mirror if the source is a URL. */
export async function hostGitDirOf(home: string, repo: RunRepo): Promise<string> {
  if (isUrl(repo.source)) return mirrorPath(home, repo.mirror);
  return findGitDir(repo.source);
}

/** The key that signs a run's commits and proofs; undefined if signing is off. */
export function signingKey({ sign, signingKey: path }: Config['git']): SigningKey | undefined {
  return sign === 'ssh' && path !== undefined ? { path } : undefined;
}
