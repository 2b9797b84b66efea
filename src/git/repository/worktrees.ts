import { assertObjectId, splitNul } from '../process/git-output.ts';
import { replaceLocalPrograms } from './local-programs.ts';
import { git, gitText, tryGit, type GitOptions } from '../process/git.ts';
import { createFolders, readRegularText, syncUpTo, pathExists } from '../../lib/fs.ts';
import { HaloError } from '../../core/failure/errors.ts';
import { dirname, join, resolve } from 'node:path';
import { readdir } from 'node:fs/promises';

interface Worktree {
  path: string;
  /** Full ref name; undefined when detached or bare. */
  branch: string | undefined;
}

/** Maximum size of git's state files of a worktree. */
const MAX_STATE_BYTES = 64 * 1024;
/** Exit code of git for unknown options. */
const USAGE = 129;

/** The checkouts of a repository, the main one first. Throws GIT_FAILED. */
export async function listWorktrees(gitDir: string): Promise<Worktree[]> {
  const [main, ...others] = await askWorktrees(gitDir);
  if (main === undefined) return others;
  if (main.path !== gitDir || main.branch === undefined) return [main, ...others];
  // For a submodule, git prints its git directory instead of its working tree.
  const { stdout } = await git(['config', '--null', 'core.worktree'], { gitDir, ok: [0, 1] });
  return [{ ...main, path: resolve(gitDir, splitNul(stdout)[0] ?? '.') }, ...others];
}

async function askWorktrees(gitDir: string): Promise<Worktree[]> {
  const list = ['worktree', 'list', '--porcelain'];
  const { exitCode, stdout } = await git([...list, '-z'], { gitDir, ok: [0, USAGE] });
  if (exitCode !== USAGE) return parseWorktrees(stdout.toString('utf8'), '\0');
  // git before 2.36.
  return parseWorktrees((await git(list, { gitDir })).stdout.toString('utf8'), '\n');
}

const FACTS = /^(?:HEAD [0-9a-f]+|branch refs\/.+|detached|bare|locked(?: .*)?|prunable(?: .*)?)$/s;

/** Parses the list; `end` terminates its lines. Throws GIT_FAILED if a path may contain it, because the result is ambiguous. */
export function parseWorktrees(list: string, end: '\0' | '\n'): Worktree[] {
  const records = list.split(end + end).filter((record) => record !== '');
  return records.map((record) => {
    const [first = '', ...facts] = record.split(end).filter((line) => line !== '');
    const branches = facts.filter((fact) => fact.startsWith('branch '));
    if (!first.startsWith('worktree ') || branches.length > 1 || !facts.every((fact) => FACTS.test(fact))) {
      throw new HaloError('GIT_FAILED', 'The path of a worktree of the repository contains a newline.', {
        hint: 'Use git 2.36 or newer, or rename that folder.',
      });
    }
    return { path: first.slice('worktree '.length), branch: branches[0]?.slice('branch '.length) };
  });
}

/**
 * Checks a commit out in a worktree at an absolute `path`, as the operator, without hooks and without programs that the
 * repository's own configuration names: files with such a filter stay as in the commit. Fast-forwards an existing
 * worktree; never overwrites changes in it, or a folder that is not a worktree. Throws GIT_FAILED.
 */
export async function checkOutWorktree({
  gitDir,
  commit,
  path,
}: {
  gitDir: string;
  commit: string;
  path: string;
}): Promise<void> {
  assertObjectId(commit, 'The commit to check out');
  const isThere = (await pathExists(path)) && (await listWorktrees(gitDir)).some((worktree) => worktree.path === path);
  if (!isThere) {
    await createFolders(dirname(path), 0o700);
    // `--force` replaces a registered worktree whose folder was deleted; it never overwrites a folder.
    const add = ['worktree', 'add', '--quiet', '--detach', '--force', '--no-checkout', '--', path, commit];
    await git(add, { gitDir, trust: 'operator', durable: true });
  }
  // Settings may depend on the worktree.
  const { settings } = await replaceLocalPrograms({ cwd: path });
  const at: GitOptions = { cwd: path, trust: 'operator', settings, durable: true };
  const index = await gitText(['rev-parse', '--path-format=absolute', '--git-path', 'index'], at);
  // A process that died in between has left a worktree without files.
  if (!(await pathExists(index))) await git(['reset', '--quiet', '--hard'], at);
  await git(['merge', '--ff-only', '--no-overwrite-ignore', '--quiet', '--no-autostash', '--no-stat', commit], at);
  await syncWorktree(path, gitDir);
}

/** Syncs the git directory of a worktree to disk: after a power failure, empty files in it would break the repository. */
async function syncWorktree(path: string, gitDir: string): Promise<void> {
  const own = await gitDirAt(path);
  for (const entry of await readdir(own, { recursive: true })) await syncUpTo(join(own, entry), join(own, entry));
  await syncUpTo(own, gitDir);
  await syncUpTo(join(path, '.git'), path);
}

/** Returns the unfinished operation in a checkout, such as "a merge", or undefined; `gitDir` is its own one. */
export async function findUnfinishedOperation(gitDir: string): Promise<string | undefined> {
  const marks: [string, string][] = [
    ['MERGE_HEAD', 'a merge'],
    ['CHERRY_PICK_HEAD', 'a cherry-pick'],
    ['REVERT_HEAD', 'a revert'],
    ['rebase-merge/head-name', 'a rebase'],
    ['rebase-apply/next', 'a rebase or git am'],
  ];
  for (const [file, words] of marks) if ((await readStateFile(join(gitDir, file))) !== undefined) return words;
  return undefined;
}

/**
 * The files of a checkout whose conflicts are not resolved yet; none for a bare repository. After `git stash apply` or
 * `git checkout --merge`, nothing but git status and this reports them.
 */
export async function listUnmerged(path: string): Promise<string[]> {
  const listed = await tryGit(['ls-files', '--unmerged', '-z'], { cwd: path, trust: 'operator' });
  const names = splitNul(listed.stdout).map((entry) => entry.slice(entry.indexOf('\t') + 1));
  return [...new Set(names)];
}

/** Returns the git directory of a checkout; for a linked worktree, its own one. */
export async function gitDirAt(path: string): Promise<string> {
  return gitText(['rev-parse', '--absolute-git-dir'], { cwd: path, trust: 'operator' });
}

/** Returns the ref that an unfinished rebase in this checkout will move, or undefined. */
export async function findRebasedRef(gitDir: string): Promise<string | undefined> {
  const [merge, apply] = await Promise.all(
    ['rebase-merge', 'rebase-apply'].map((folder) => readStateFile(join(gitDir, folder, 'head-name'))),
  );
  return (merge ?? apply)?.trim();
}

async function readStateFile(path: string): Promise<string | undefined> {
  return readRegularText(path, MAX_STATE_BYTES).catch(() => undefined);
}
