import { git, gitText, tryGit, type GitOptions } from './git.ts';

/** Changes of a checkout that were put aside. */
export interface Stash {
  root: string;
  /** The commit that holds them. */
  commit: string;
}

/**
 * Puts changes of tracked files aside, as `git stash` does; files that git does not know stay. `except` are paths
 * below the root that stay as they are. Answers undefined when there is nothing to put aside.
 */
export async function stashChanges(
  root: string,
  { except, message }: { except: readonly string[]; message: string },
): Promise<Stash | undefined> {
  const at = operator(root);
  const paths = [':(top)', ...except.map((path) => `:(top,exclude,literal)${path}`)];
  const status = ['status', '--porcelain=v1', '--untracked-files=no', '--ignore-submodules=all', '--', ...paths];
  if ((await gitText(status, at)) === '') return undefined;
  await git(['stash', 'push', '--quiet', '--message', message, '--', ...paths], at);
  return { root, commit: await gitText(['rev-parse', '--verify', 'refs/stash'], at) };
}

/** Brings them back. Answers whether that went well; if not, they are still in the list of `git stash`. */
export async function restoreStash({ root, commit }: Stash): Promise<boolean> {
  const at = operator(root);
  const entries = (await gitText(['stash', 'list', '--format=%H'], at)).split('\n');
  const place = entries.indexOf(commit);
  if (place === -1) return false;
  const pop = (...how: string[]) => tryGit(['stash', 'pop', '--quiet', ...how, `stash@{${place}}`], at);
  // Where what is staged cannot be staged again, at least the files come back.
  return (await pop('--index')).exitCode === 0 || (await pop()).exitCode === 0;
}

function operator(root: string): GitOptions {
  return { cwd: root, trust: 'operator' };
}
