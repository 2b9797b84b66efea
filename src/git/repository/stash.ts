import { rm } from 'node:fs/promises';
import { join } from 'node:path';
import { HaloError } from '../../core/failure/errors.ts';
import { syncCheckout, syncRef } from './sync-repository.ts';
import { git, gitText, tryGit, type GitOptions, type GitOutcome } from '../process/git.ts';
import { filtersOf, replaceLocalPrograms } from './local-programs.ts';
import { reasonOf, splitNul } from '../process/git-output.ts';
import { listUnmerged } from './worktrees.ts';

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

/**
 * Why stashed changes were not restored: the files of the checkout with which they conflict, or another reason in the words of
 * git. The checkout is as before, and the changes are still in `git stash list`.
 */
export type RestoreFailure = { conflicts: string[] } | { reason: string };

/** Restores stashed changes completely or not at all. Returns undefined if that succeeded. */
export async function restoreStash(stash: Stash): Promise<RestoreFailure | undefined> {
  const { settings } = await replaceLocalPrograms({ cwd: stash.root });
  const at: GitOptions = { cwd: stash.root, trust: 'operator', settings };
  const entries = (await gitText(['stash', 'list', '--format=%H'], at)).split('\n');
  const place = entries.indexOf(stash.commit);
  if (place === -1) return { reason: 'it is not in the list of stashes any more' };
  const name = `stash@{${place}}`;
  const before = await listStaged(at);
  let applied: GitOutcome | undefined;
  // If the index cannot be restored, restore at least the files.
  for (const how of [['--index'], []]) {
    applied = await tryGit(['stash', 'apply', '--quiet', ...how, name], { ...at, durable: true });
    if (applied.exitCode === 0) break;
    const conflicts = await listUnmerged(stash.root);
    if (conflicts.length === 0) continue;
    await undoApply({ ...at, durable: true }, { before, changed: await listStaged(at) });
    return { conflicts };
  }
  if (applied?.exitCode !== 0) return { reason: (applied && reasonOf(applied)) ?? 'git gave no reason' };
  await syncStashed(stash);
  await git(['stash', 'drop', '--quiet', name], at);
  return undefined;
}

/**
 * Resets the files that an apply with conflicts has changed to those of HEAD. Git starts to apply only where the files that
 * it changes are unchanged, and then stages all of them.
 */
async function undoApply(
  at: GitOptions,
  { before, changed }: { before: readonly string[]; changed: readonly string[] },
): Promise<void> {
  const own = new Set(before);
  const touched = changed.filter((path) => !own.has(path));
  // Without paths, git would reset all of them.
  if (touched.length === 0) return;
  const input = (paths: readonly string[]) => paths.map((path) => `${path}\0`).join('');
  const reset = ['reset', '--quiet', '--pathspec-from-file=-', '--pathspec-file-nul'];
  await git(['--literal-pathspecs', ...reset], { ...at, input: input(touched) });
  const { stdout } = await git(['--literal-pathspecs', 'ls-files', '-z', '--full-name', '--', ...touched], at);
  const tracked = new Set(splitNul(stdout));
  await git(['checkout-index', '--quiet', '--force', '-z', '--stdin'], { ...at, input: input([...tracked]) });
  const created = touched.filter((path) => !tracked.has(path));
  await Promise.all(created.map((path) => rm(join(at.cwd ?? '', path), { force: true })));
}

/** The paths whose entries in the index differ from HEAD. */
async function listStaged(at: GitOptions): Promise<string[]> {
  const args = ['diff', '--cached', '--name-only', '-z', '--no-renames', '--ignore-submodules=all', '--no-ext-diff'];
  return [...new Set(splitNul((await git([...args, 'HEAD'], at)).stdout))];
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
