import { canLand } from '../../core/run/actions.ts';
import type { RunState } from '../../core/run/state.ts';
import { countDiverged } from '../../git/repository/unmerged-runs.ts';
import { isUrl } from '../../git/repository/repo-url.ts';
import { hostGitDirOf } from './host-repository.ts';

/** A branch that cannot be fast-forwarded to the result of a run, and how many commits it has that the run lacks. */
export interface MovedBase {
  branch: string;
  commits: number;
}

/** Whether the branch that a run could land on has moved since; undefined: it has not, or only a push would show it. */
export async function findMovedBase(home: string, run: RunState): Promise<MovedBase | undefined> {
  const { repo, tip, landed } = run;
  const { branch } = repo;
  if (branch === undefined || isUrl(repo.source) || landed !== undefined || canLand(run) !== true) return undefined;
  const gitDir = await hostGitDirOf(home, repo).catch(() => undefined);
  const commits = gitDir === undefined ? 0 : await countDiverged(gitDir, { branch, tip });
  return commits === 0 ? undefined : { branch, commits };
}
