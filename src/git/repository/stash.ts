import { HaloError } from '../../core/failure/errors.ts';
import { syncCheckout, syncRef } from './sync-repository.ts';
import { git, gitText, tryGit, type GitOptions } from '../process/git.ts';
import { filtersOf, replaceLocalPrograms } from './local-programs.ts';
import { splitZero } from '../split-zero.ts';

/** Changes of a checkout that were put aside. */
export interface Stash {
  root: string;
  /** The commit that holds them. */
  commit: string;
}

/**
 * Puts changes of tracked files aside, as `git stash` does; files that git does not know stay. `except` are paths
 * below the root that stay as they are. Answers undefined when there is nothing to put aside. Throws LAND_REFUSED where
 * a program of the repository's own configuration would be needed.
 */
export async function stashChanges(
  root: string,
  { except, message }: { except: readonly string[]; message: string },
): Promise<Stash | undefined> {
  const { settings, filters } = await replaceLocalPrograms({ cwd: root });
  const at: GitOptions = { cwd: root, trust: 'operator', settings };
  const paths = [':(top)', ...except.map((path) => `:(top,exclude,literal)${path}`)];
  const flags = ['--porcelain=v1', '-z', '--no-renames', '--untracked-files=no', '--ignore-submodules=all'];
  const { stdout } = await git(['status', ...flags, '--', ...paths], at);
  const changed = splitZero(stdout).map((entry) => entry.slice(3));
  if (changed.length === 0) return undefined;
  const [needed] = await filtersOf(root, changed, filters);
  if (needed !== undefined) {
    throw new HaloError(
      'LAND_REFUSED',
      `Changed files of ${root} need the filter ${needed}, which its git configuration names: halo starts no program from there.`,
      { hint: 'Commit or stash them, then land.' },
    );
  }
  // From here on the stash alone has them.
  await git(['stash', 'push', '--quiet', '--message', message, '--', ...paths], { ...at, durable: true });
  const commit = await gitText(['rev-parse', '--verify', 'refs/stash'], at);
  await syncRef(await commonDir(at), 'refs/stash');
  await syncStashed({ root, commit });
  return { root, commit };
}

/** Brings them back. Answers whether that went well; if not, they are still in the list of `git stash`. */
export async function restoreStash(stash: Stash): Promise<boolean> {
  const { settings } = await replaceLocalPrograms({ cwd: stash.root });
  const at: GitOptions = { cwd: stash.root, trust: 'operator', settings };
  const entries = (await gitText(['stash', 'list', '--format=%H'], at)).split('\n');
  const place = entries.indexOf(stash.commit);
  if (place === -1) return false;
  const name = `stash@{${place}}`;
  const apply = (...how: string[]) =>
    tryGit(['stash', 'apply', '--quiet', ...how, name], { ...at, durable: true }).then(
      ({ exitCode }) => exitCode === 0,
    );
  // Where what is staged cannot be staged again, at least the files come back.
  if (!(await apply('--index')) && !(await apply())) return false;
  await syncStashed(stash);
  await git(['stash', 'drop', '--quiet', name], at);
  return true;
}

/** Whether they are aside or back, the files are on the disk. */
async function syncStashed({ root, commit }: Stash): Promise<void> {
  await syncCheckout(root, {
    gitDir: await commonDir({ cwd: root, trust: 'operator' }),
    from: `${commit}^1`,
    to: commit,
  });
}

function commonDir(at: GitOptions): Promise<string> {
  return gitText(['rev-parse', '--path-format=absolute', '--git-common-dir'], at);
}
