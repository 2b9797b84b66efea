import { realpath } from 'node:fs/promises';
import { basename, dirname } from 'node:path';
import { HaloError } from '../../core/failure/errors.ts';
import { isFolder } from '../../lib/fs.ts';
import { assertObjectId, isObjectId, reasonOf, splitNul } from '../process/git-output.ts';
import { questionMs, withLimits } from '../process/git-limits.ts';
import { failureOf, gitText, tryGit, type GitOutcome } from '../process/git.ts';
import { listSettings, type GitSetting } from '../process/git-settings.ts';
import { findConverted } from './converted-files.ts';
import { replaceLocalPrograms, withoutLocalPrograms } from './local-programs.ts';
import { allowBareRepository, findCheckout } from './repository-places.ts';

export interface RepoInfo {
  /** Root of the checkout; the repository itself when it is bare. Absolute, links resolved. */
  root: string;
  /** The common git directory, shared by all worktrees. Absolute, links resolved. */
  gitDir: string;
  /** The git directory of this worktree alone. */
  ownGitDir: string;
  /** Short name of the branch checked out at `root`; undefined when HEAD is detached. */
  branch: string | undefined;
  head: string;
  shallow: boolean;
}

/**
 * Finds the repository that contains `path`, in the same way as git: a repository of another user is rejected unless
 * git's `safe.directory` allows it. Throws NOT_A_GIT_REPO and NO_COMMITS.
 */
export async function inspectRepo(path: string): Promise<RepoInfo> {
  const { top, gitDir, ownGitDir, shallow, head, ref } = await askFacts(path);
  if (head === undefined) {
    throw new HaloError('NO_COMMITS', `The repository ${path} has no commits yet.`, {
      hint: 'Create a first commit.',
    });
  }
  const root = top === undefined ? rootWithoutCheckout(gitDir) : await realpath(top);
  // The files of a repository may be anywhere (core.worktree), but halo writes only where it was sent.
  if (top !== undefined && root !== (await findCheckout(await realpath(path))))
    throw notARepo(path, `its working tree is elsewhere, in ${root}`);
  return { root, gitDir, ownGitDir, branch: branchOf(ref), head, shallow };
}

/** What git answers about the repository of a folder. */
interface Facts extends Pick<RepoInfo, 'gitDir' | 'ownGitDir' | 'shallow'> {
  /** The root of the checkout, if there is one. */
  top: string | undefined;
  head: string | undefined;
  /** What HEAD names: a branch, or `HEAD` if it is detached. */
  ref: string;
}

async function askFacts(path: string): Promise<Facts> {
  const ask = await openQuestions(path);
  return (await askInOne(ask)) ?? askEach(path, ask);
}

const OWN_GIT_DIR = '--absolute-git-dir';
const TOP = '--show-toplevel';

/** All that is usually there, from one process; undefined in a bare repository, without a commit, or with line breaks in paths. */
async function askInOne(ask: Ask): Promise<Facts | undefined> {
  const { exitCode, stdout } = await ask(
    ...GIT_DIR_ARGS,
    TOP,
    OWN_GIT_DIR,
    'HEAD^{commit}',
    '--symbolic-full-name',
    'HEAD',
  );
  const [gitDir = '', shallow = '', top = '', ownGitDir = '', head = '', ref = '', ...more] =
    lineOf(stdout).split('\n');
  if (exitCode !== 0 || !/^(true|false)$/.test(shallow) || !isObjectId(head) || ref === '' || more.length > 0)
    return undefined;
  return { gitDir: await realpath(gitDir), shallow: shallow === 'true', top, ownGitDir, head, ref };
}

async function askEach(path: string, ask: Ask): Promise<Facts> {
  const [facts, top, own, ref] = await Promise.all([
    ask(...GIT_DIR_ARGS, 'HEAD^{commit}'),
    ask('rev-parse', TOP),
    ask('rev-parse', OWN_GIT_DIR),
    ask('symbolic-ref', '--quiet', 'HEAD'),
  ]);
  return {
    ...(await readFacts(path, facts)),
    top: top.exitCode === 0 ? lineOf(top.stdout) : undefined,
    ownGitDir: lineOf(own.stdout),
    ref: lineOf(ref.stdout),
  };
}

/** The common git directory of the repository that contains `path`, as in `inspectRepo`. Throws NOT_A_GIT_REPO. */
export async function requireGitDir(path: string): Promise<string> {
  const ask = await openQuestions(path);
  return (await readFacts(path, await ask(...GIT_DIR_ARGS))).gitDir;
}

const GIT_DIR_ARGS = [
  'rev-parse',
  '--revs-only',
  '--path-format=absolute',
  '--git-common-dir',
  '--is-shallow-repository',
];

/** What git answers to `GIT_DIR_ARGS`; `head`: the commit, if that was asked for after them and there is one. */
async function readFacts(
  path: string,
  facts: GitOutcome,
): Promise<Pick<RepoInfo, 'gitDir' | 'shallow'> & { head: string | undefined }> {
  if (facts.exitCode !== 0) throw notARepo(path, reasonOf(facts) ?? 'git does not know it');
  const lines = lineOf(facts.stdout).split('\n');
  const head = isObjectId(lines.at(-1) ?? '') ? lines.pop() : undefined;
  const shallow = lines.pop() === 'true';
  // A path may have line breaks.
  return { gitDir: await realpath(lines.join('\n')), shallow, head };
}

type Ask = (...args: string[]) => Promise<GitOutcome>;

/** Runs git commands in a folder that exists, with the user's trust in its owner. */
async function openQuestions(path: string): Promise<Ask> {
  if (!(await isFolder(path))) throw notARepo(path, 'there is no such folder');
  const allowed = await allowBareRepository(path);
  return async (...args) => {
    const options = { cwd: path, trust: 'operator', timeoutMs: questionMs() } as const;
    const outcome = await tryGit([...allowed, ...args], options);
    // No answer is none: a file of the repository may be a pipe that no process writes to.
    if (outcome.ended === 'timeout' || outcome.ended === 'aborted') throw failureOf(args, outcome, options);
    return outcome;
  };
}

interface WorkingTreeChanges {
  tracked: string[];
  untracked: string[];
}

/**
 * Paths that differ from the commit of a checkout, and those that git does not track, as git status shows them; none
 * for a bare repository. No program that the repository configures is run: a file that only its filter would show as
 * unchanged counts as changed, and what is changed inside of a submodule does not count, nor does what git would only
 * convert. `except` are paths below the root that do not count either; `known`: the settings of the checkout, if they
 * have been read already.
 */
export async function listChanges(
  root: string,
  except: readonly string[] = [],
  known?: readonly GitSetting[],
): Promise<WorkingTreeChanges> {
  const not = except.map((path) => `:(top,exclude,literal)${path}`);
  const flags = ['--porcelain=v1', '-z', '--no-renames', '--untracked-files=normal', '--ignore-submodules=dirty'];
  const { settings } = withoutLocalPrograms(known ?? (await listSettings({ cwd: root })));
  const status = await tryGit(['status', ...flags, '--', '.', ...not], { cwd: root, trust: 'operator', settings });
  if (status.ended !== 'exited') throw failureOf(['status'], status, withLimits({ cwd: root }));
  if (status.exitCode === 0) {
    const entries = splitNul(status.stdout);
    const converted = await findConverted(root, entries);
    const pathsOf = (isUntracked: boolean) =>
      entries.filter((entry) => entry.startsWith('??') === isUntracked).map((entry) => entry.slice(3));
    return { tracked: pathsOf(false).filter((path) => !converted.has(path)), untracked: pathsOf(true) };
  }
  if (/must be run in a work tree|cannot use bare repository/.test(status.stderr))
    return { tracked: [], untracked: [] };
  throw new HaloError('GIT_FAILED', `git status failed in ${root}: ${reasonOf(status) ?? 'no reason given'}`);
}

/**
 * What a checkout has changed since its commit, as a patch that may be cut off at `maxBytes`; empty where git cannot say.
 * No program that the repository configures is run.
 */
export async function diffCheckout(root: string, maxBytes: number): Promise<string> {
  const args = ['diff', 'HEAD', '--no-ext-diff', '--no-textconv', '--no-color', '--ignore-submodules=dirty'];
  const { settings } = await replaceLocalPrograms({ cwd: root });
  return (await tryGit(args, { cwd: root, trust: 'operator', maxBytes, settings })).stdout.toString('utf8');
}

/** Returns those folders of a checkout, as paths from its root, that the repository's own rules do not ignore. */
export async function findUnignoredFolders(root: string, folders: readonly string[]): Promise<string[]> {
  if (folders.length === 0) return [];
  const settings = { 'core.excludesFile': '/dev/null' };
  const input = folders.map((folder) => `${folder}/\0`).join('');
  const asked = await tryGit(['check-ignore', '--stdin', '-z', '--no-index'], {
    cwd: root,
    trust: 'operator',
    settings,
    input,
  });
  const ignored = new Set(splitNul(asked.stdout));
  return folders.filter((folder) => !ignored.has(`${folder}/`));
}

interface FileAtCommit {
  gitDir: string;
  commit: string;
  /** Relative to the top of the tree. */
  path: string;
  /** A larger file counts as a failure (GIT_FAILED). */
  maxBytes: number;
  /** Takes the beginning of a larger file instead. */
  truncate?: true;
}

/** The text of a file in a commit; undefined when the commit has no such file. */
export async function readFileAt(file: FileAtCommit): Promise<string | undefined> {
  return (await readBytesAt(file))?.toString('utf8');
}

/** The bytes of a file in a commit; undefined when the commit has no such file. */
export async function readBytesAt({
  gitDir,
  commit,
  path,
  maxBytes,
  truncate: cut,
}: FileAtCommit): Promise<Buffer | undefined> {
  assertObjectId(commit, 'The commit');
  const args = ['cat-file', 'blob', `${commit}:${path}`];
  const found = await tryGit(args, { gitDir, maxBytes });
  if (cut && found.ended === 'too-much-output') return found.stdout;
  if (found.ended !== 'exited' || ![0, 128].includes(found.exitCode ?? -1)) throw failureOf(args, found, { gitDir });
  if (found.exitCode === 0) return found.stdout;
  if (found.stderr.includes(`does not exist in '${commit}'`)) return undefined;
  // In other words, or the commit is missing.
  await gitText(['cat-file', '-e', `${commit}^{commit}`], { gitDir });
  return undefined;
}

function rootWithoutCheckout(gitDir: string): string {
  return basename(gitDir) === '.git' ? dirname(gitDir) : gitDir;
}

/** git's own short name of a branch has more to it where a tag has the same name. */
function branchOf(ref: string): string | undefined {
  return ref.startsWith('refs/heads/') ? ref.slice('refs/heads/'.length) : undefined;
}

function lineOf(stdout: Buffer): string {
  return stdout.toString('utf8').replace(/\n$/, '');
}

function notARepo(path: string, why: string): HaloError {
  const foreign = why.includes('dubious ownership');
  return new HaloError('NOT_A_GIT_REPO', `${path} is not a git repository that halo can use: ${why}.`, {
    hint: foreign
      ? `It belongs to another user. If you trust it: git config --global --add safe.directory ${path}`
      : 'Use the path of a git checkout or a bare repository, or run `git init` and create a first commit.',
  });
}

/** The address of the remote `origin` of a repository; undefined if it has none. */
export async function findOriginUrl(path: string): Promise<string | undefined> {
  const allowed = await allowBareRepository(path);
  const { exitCode, stdout } = await tryGit([...allowed, 'config', '--get', 'remote.origin.url'], {
    cwd: path,
    trust: 'operator',
  });
  const url = stdout.toString('utf8').trim();
  return exitCode !== 0 || url === '' ? undefined : url;
}
