import { HaloError } from '../../core/failure/errors.ts';
import { syncCheckout, syncRef } from './sync-repository.ts';
import { git, gitText, tryGit, type GitOptions } from '../process/git.ts';
import { filtersOf, replaceLocalPrograms } from './local-programs.ts';
import { splitNul } from '../process/git-output.ts';

/** Stashed changes of a checkout. */
interface Stash {
  root: string;
  /** The commit that holds them. */
  commit: string;
}

/**
 * Stashes changes of tracked files, like `git stash`; untracked files and the paths in `except` (relative to the root)
 * stay. Returns undefined when there is nothing to stash. Throws LAND_REFUSED if that requires a program that the
 * repository's own configuration names.
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
  const changed = splitNul(stdout).map((entry) => entry.slice(3));
  if (changed.length === 0) return undefined;
  const [needed] = await filtersOf(root, changed, filters);
  if (needed !== undefined) {
    throw new HaloError(
      'LAND_REFUSED',
      `Changed files of ${root} need the filter ${needed}, which its git configuration names: halo runs no program named there.`,
      { hint: 'Stash them yourself, then run `halo land`.' },
    );
  }
  // From here on, the changes exist only in the stash.
  await git(['stash', 'push', '--quiet', '--message', message, '--', ...paths], { ...at, durable: true });
  const commit = await gitText(['rev-parse', '--verify', 'refs/stash'], at);
  await syncRef(await commonDir(at), 'refs/stash');
  await syncStashed({ root, commit });
  return { root, commit };
}

/** Restores stashed changes. Returns whether that succeeded; if not, they are still in `git stash list`. */
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
  // If the index cannot be restored, restore at least the files.
  if (!(await apply('--index')) && !(await apply())) return false;
  await syncStashed(stash);
  await git(['stash', 'drop', '--quiet', name], at);
  return true;
}

/** Syncs the changed files to disk. */
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
