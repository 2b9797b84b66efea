import type { Config } from '../../config/config.ts';
import type { RunRepo } from '../../core/journal/run-created.ts';
import type { SigningKey } from '../../git/commit/create-commit.ts';
import { mirrorPath, updateMirror } from '../../git/mirror/mirror.ts';
import { isUrl } from '../../git/repository/repo-url.ts';
import { requireRunGitDir } from './run-repository.ts';
import type { Attempt } from '../attempt/open-attempt.ts';

/** The ref of a run's branch in the host repository. */
export function runRef(runId: string): string {
  return `refs/heads/halo/${runId}`;
}

/** The git directory of the repository in which a run's branch lands: the user's own, or the mirror if the source is a URL. */
export async function hostGitDirOf(home: string, repo: RunRepo): Promise<string> {
  if (isUrl(repo.source)) return mirrorPath(home, repo.mirror);
  return requireRunGitDir(repo);
}

/** The key that signs a run's commits and proofs; undefined if signing is off. */
export function signingKey({ sign, signingKey: path }: Config['git']): SigningKey | undefined {
  return sign === 'ssh' && path !== undefined ? { path } : undefined;
}

/** Fetches the base commit of an attempt into the mirror if it is missing. */
export async function updateBase({ worker, identity, inputs }: Attempt): Promise<void> {
  const { base, state, hostGitDir } = inputs;
  const mirror = { home: worker.home, name: state.repo.mirror };
  // Landing has stored the commits of the run in the mirror.
  await updateMirror({ ...mirror, from: hostGitDir, commit: base, knownRef: runRef(identity.runId) });
}
