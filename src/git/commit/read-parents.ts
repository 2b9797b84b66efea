import { gitText, tryGit } from '../process/git.ts';
import { assertObjectId, isObjectId } from '../process/object-id.ts';

/** Returns the first parent of a commit. Throws GIT_FAILED when the commit or the parent does not exist. */
export async function readParent(gitDir: string, commit: string): Promise<string> {
  assertObjectId(commit, 'The commit');
  return gitText(['rev-parse', '--verify', '--end-of-options', `${commit}^1`], { gitDir });
}

/** Whether a repository has a commit. */
export async function hasCommit(gitDir: string, commit: string): Promise<boolean> {
  assertObjectId(commit, 'The commit');
  return (await tryGit(['cat-file', '-e', `${commit}^{commit}`], { gitDir })).exitCode === 0;
}

/** Returns all parents of a commit. Throws GIT_FAILED when the commit does not exist. */
export async function readParents(gitDir: string, commit: string): Promise<string[]> {
  assertObjectId(commit, 'The commit');
  const parents = await gitText(['rev-parse', '--end-of-options', `${commit}^@`], { gitDir });
  return parents.split('\n').filter((line) => isObjectId(line));
}

/** Returns the newest commits of a range that changed a path, newest first, at most 100. Throws GIT_FAILED. */
export async function readChangesOf(
  gitDir: string,
  { base, tip, path }: { base: string; tip: string; path: string },
): Promise<string[]> {
  assertObjectId(base, 'The commit');
  assertObjectId(tip, 'The commit');
  const args = ['--literal-pathspecs', 'log', '--max-count=100', '--format=%H', `${base}..${tip}`, '--', path];
  const found = await gitText(args, { gitDir });
  return found.split('\n').filter((line) => isObjectId(line));
}
