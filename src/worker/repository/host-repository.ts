import { realpath } from 'node:fs/promises';
import { join } from 'node:path';
import type { Config } from '../../config/config.ts';
import { HaloError } from '../../core/failure/errors.ts';
import type { RunRepo } from '../../core/journal/run-created.ts';
import type { SigningKey } from '../../git/commit/create-commit.ts';
import { mirrorPath, updateMirror } from '../../git/mirror/mirror.ts';
import { inspectRepo, requireGitDir, type RepoInfo } from '../../git/repository/inspect-repo.ts';
import { isUrl } from '../../git/repository/repo-url.ts';
import { requireSamePlaces } from '../../git/repository/repository-places.ts';
import { checkOutWorktree } from '../../git/repository/worktrees.ts';
import type { Attempt } from '../attempt/open-attempt.ts';
import type { RunKeeper } from '../worker-context.ts';

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
