import { mkdir, readdir, stat } from 'node:fs/promises';
import { dirname, join, resolve } from 'node:path';
import { HaloError } from '../../core/failure/errors.ts';
import { syncUpTo } from '../../lib/atomic-write.ts';
import { readRegularText } from '../../lib/read-file.ts';
import { git, gitText, type GitOptions } from '../process/git.ts';
import { replaceLocalPrograms } from './local-programs.ts';
import { assertObjectId } from '../process/object-id.ts';
import { splitZero } from '../split-zero.ts';

export interface Worktree {
  path: string;
  /** Full ref name; undefined when detached or bare. */
  branch: string | undefined;
}

/** Of what git writes down about a worktree. */
const MOST_BYTES = 64 * 1024;
/** What git answers to options that it does not know. */
const USAGE = 129;

/** The checkouts of a repository, the main one first. Throws GIT_FAILED. */
export async function listWorktrees(gitDir: string): Promise<Worktree[]> {
  const [main, ...others] = await askWorktrees(gitDir);
  if (main === undefined) return others;
  if (main.path !== gitDir || main.branch === undefined) return [main, ...others];
  // The git directory of a submodule is not beside its files, and git names it instead of them.
  const { stdout } = await git(['config', '--null', 'core.worktree'], { gitDir, ok: [0, 1] });
  return [{ ...main, path: resolve(gitDir, splitZero(stdout)[0] ?? '.') }, ...others];
}

async function askWorktrees(gitDir: string): Promise<Worktree[]> {
  const list = ['worktree', 'list', '--porcelain'];
  const { exitCode, stdout } = await git([...list, '-z'], { gitDir, ok: [0, USAGE] });
  if (exitCode !== USAGE) return parseWorktrees(stdout.toString('utf8'), '\0');
  // git before 2.36.
  return parseWorktrees((await git(list, { gitDir })).stdout.toString('utf8'), '\n');
}

const FACTS = /^(?:HEAD [0-9a-f]+|branch refs\/.+|detached|bare|locked(?: .*)?|prunable(?: .*)?)$/s;

/** `end` is what ends a line of the list. Throws GIT_FAILED where a path may hold it: its worktree could be another. */
export function parseWorktrees(list: string, end: '\0' | '\n'): Worktree[] {
  const records = list.split(end + end).filter((record) => record !== '');
  return records.map((record) => {
    const [first = '', ...facts] = record.split(end).filter((line) => line !== '');
    const branches = facts.filter((fact) => fact.startsWith('branch '));
    if (!first.startsWith('worktree ') || branches.length > 1 || !facts.every((fact) => FACTS.test(fact))) {
      throw new HaloError('GIT_FAILED', 'the path of a worktree of the repository holds a line end', {
        hint: 'Use git 2.36 or newer, or rename that folder.',
      });
    }
    return { path: first.slice('worktree '.length), branch: branches[0]?.slice('branch '.length) };
  });
}

/**
 * Checks a commit out in a worktree at `path`, an absolute path, as the operator, without hooks and without programs
 * that the repository's own configuration names: where it names a filter, files are as the commit has them. One that is
 * there already goes forward to it, and git refuses to overwrite what was changed in it, or what is there and no
 * worktree. Throws GIT_FAILED.
 */
export async function checkOutAside({
  gitDir,
  commit,
  path,
}: {
  gitDir: string;
  commit: string;
  path: string;
}): Promise<void> {
  assertObjectId(commit, 'The commit to check out');
  const isThere = (await exists(path)) && (await listWorktrees(gitDir)).some((worktree) => worktree.path === path);
  if (!isThere) {
    await mkdir(dirname(path), { recursive: true, mode: 0o700 });
    // By force where git still knows one whose folder was deleted; it never writes over a folder.
    const add = ['worktree', 'add', '--quiet', '--detach', '--force', '--no-checkout', '--', path, commit];
    await git(add, { gitDir, trust: 'operator', durable: true });
  }
  // Which settings hold may depend on the worktree.
  const { settings } = await replaceLocalPrograms({ cwd: path });
  const at: GitOptions = { cwd: path, trust: 'operator', settings, durable: true };
  const index = await gitText(['rev-parse', '--path-format=absolute', '--git-path', 'index'], at);
  // Whoever died in between has left a worktree without files.
  if (!(await exists(index))) await git(['reset', '--quiet', '--hard'], at);
  await git(['merge', '--ff-only', '--no-overwrite-ignore', '--quiet', '--no-autostash', '--no-stat', commit], at);
  await syncWorktree(path, gitDir);
}

/** What git knows of a worktree would otherwise be empty files after a power cut, with which the whole repository fails. */
async function syncWorktree(path: string, gitDir: string): Promise<void> {
  const own = await gitDirAt(path);
  for (const entry of await readdir(own, { recursive: true })) await syncUpTo(join(own, entry), join(own, entry));
  await syncUpTo(own, gitDir);
  await syncUpTo(join(path, '.git'), path);
}

async function exists(path: string): Promise<boolean> {
  return stat(path).then(
    () => true,
    () => false,
  );
}

/** The operation that the checkout at `path` is in the middle of, in words, or undefined. */
export async function unfinishedWork(path: string): Promise<string | undefined> {
  const gitDir = await gitDirAt(path);
  const marks: [string, string][] = [
    ['MERGE_HEAD', 'a merge'],
    ['CHERRY_PICK_HEAD', 'a cherry-pick'],
    ['REVERT_HEAD', 'a revert'],
    ['rebase-merge/head-name', 'a rebase'],
    ['rebase-apply/next', 'a rebase or git am'],
  ];
  for (const [file, words] of marks) if ((await readText(join(gitDir, file))) !== undefined) return words;
  return undefined;
}

/** The git directory of a checkout: that of the worktree alone where there are several. */
export async function gitDirAt(path: string): Promise<string> {
  return gitText(['rev-parse', '--absolute-git-dir'], { cwd: path, trust: 'operator' });
}

/** The ref that a rebase in this checkout will move when it ends, or undefined. */
export async function rebasedRef(gitDir: string): Promise<string | undefined> {
  const [merge, apply] = await Promise.all(
    ['rebase-merge', 'rebase-apply'].map((folder) => readText(join(gitDir, folder, 'head-name'))),
  );
  return (merge ?? apply)?.trim();
}

async function readText(path: string): Promise<string | undefined> {
  return readRegularText(path, MOST_BYTES).catch(() => undefined);
}
