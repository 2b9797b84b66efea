import { canLand } from '../../core/run/actions.ts';
import type { RunState } from '../../core/run/state.ts';
import { limitGit } from '../../git/process/git-limits.ts';
import { countDiverged } from '../../git/repository/unmerged-runs.ts';
import { isUrl } from '../../git/repository/repo-url.ts';
import { hostGitDirOf } from './host-repository.ts';

/** A branch that cannot be fast-forwarded to the result of a run, and how many commits it has that the run lacks. */
export interface MovedBase {
  branch: string;
  commits: number;
}

/** Every look at a run asks for it, so that a slow repository must not delay the look for long. */
const GIT_MS = 2_000;

/**
 * Whether the branch that a run could land on has moved since; undefined: it has not, only a push would show it, or git does
 * not answer in time.
 */
export async function findMovedBase(
  home: string,
  run: RunState,
  { signal, gitMs = GIT_MS }: { signal?: AbortSignal | undefined; gitMs?: number } = {},
): Promise<MovedBase | undefined> {
  const { repo, tip, landed } = run;
  const { branch } = repo;
  if (branch === undefined || isUrl(repo.source) || landed !== undefined || canLand(run) !== true) return undefined;
  return limitGit({ timeoutMs: gitMs, signal }, async () => {
    const gitDir = await hostGitDirOf(home, repo).catch(() => undefined);
    const commits = gitDir === undefined ? 0 : await countDiverged(gitDir, { branch, tip });
    return commits === 0 ? undefined : { branch, commits };
  });
}
