import { join } from 'node:path';
import { HaloError } from '../../core/failure/errors.ts';
import { readFolder } from '../../lib/fs.ts';
import { shellQuote } from '../../lib/text.ts';
import { HALO_IDENTITY } from '../process/environment.ts';
import { assertObjectId, reasonOf, splitNul, zeroId } from '../process/git-output.ts';
import { git, tryGit } from '../process/git.ts';
import { callRemote, findLoginHint } from '../process/remote-access.ts';
import { findConverted, RENORMALIZE } from '../repository/converted-files.ts';
import { filtersBetween, replaceLocalPrograms } from '../repository/local-programs.ts';
import { syncCheckout, syncRef } from '../repository/sync-repository.ts';
import { countDiverged, isAncestor } from '../repository/unmerged-runs.ts';
import { findRebasedRef, findUnfinishedOperation, gitDirAt, listWorktrees } from '../repository/worktrees.ts';
import { readRef } from './land-commit.ts';

interface FastForwardRequest {
  /** The user's checkout, or the bare repository. */
  root: string;
  /** The common git directory. */
  gitDir: string;
  /** Short name; undefined when HEAD is detached: always refused. */
  branch: string | undefined;
  to: string;
  /** Files and folders, relative to the root, that may have changes; git still refuses to overwrite them. */
  except?: readonly string[];
  /** Name of `to` in messages, such as `halo/<runId>`; default: the commit id. */
  name?: string;
}

interface FastForwardResult {
  branch: string;
  from: string;
  to: string;
}

/**
 * Fast-forwards a branch to `to`, and the worktree where it is checked out. Never merges and never overwrites. Does
 * nothing if the branch already contains `to`. Throws LAND_REFUSED with the reason and a hint.
 */
export async function fastForward(request: FastForwardRequest): Promise<FastForwardResult> {
  const { root, gitDir, branch, to } = request;
  const name = request.name ?? to;
  assertObjectId(to, 'The commit to land');
  if (branch === undefined) {
    throw landRefused(
      `${root} has no branch checked out (detached HEAD).`,
      `Run: git switch <branch> && git merge --ff-only ${name}`,
    );
  }
  const ref = `refs/heads/${branch}`;
  const tip = await readRef(gitDir, ref);
  if (tip === undefined)
    throw landRefused(`The branch ${branch} does not exist in ${gitDir}.`, 'Use an existing branch.');
  if (tip === to || (await isAncestor(gitDir, to, tip))) return { branch, from: tip, to: tip };
  if (!(await isAncestor(gitDir, tip, to))) {
    const commits = await countDiverged(gitDir, { branch, tip: to });
    throw landRefused(
      `The branch ${branch} has moved since: it has ${commits === 1 ? '1 commit' : `${commits || 'other'} commits`} that ${name} lacks, so it cannot be fast-forwarded.`,
      `Merge by hand: git merge ${name}. Or open a pull request with \`halo pr\`, or submit the PRD again to start from ${branch}.`,
    );
  }
  await assertNotRebasing(gitDir, branch);
  const checkout = (await listWorktrees(gitDir)).find((worktree) => worktree.branch === ref);
  if (checkout === undefined) await moveRef(gitDir, { ref, from: tip, to });
  else {
    await mergeIntoCheckout(checkout.path, { from: tip, to, name, except: request.except ?? [] });
    await syncCheckout(checkout.path, { gitDir, from: tip, to });
  }
  await syncRef(gitDir, ref);
  return { branch, from: tip, to };
}

/** A rebase detaches HEAD and moves its branch at the end, which would undo the landing. */
async function assertNotRebasing(gitDir: string, branch: string): Promise<void> {
  const linked = await readFolder(join(gitDir, 'worktrees'));
  for (const dir of [gitDir, ...linked.map((name) => join(gitDir, 'worktrees', name))]) {
    if ((await findRebasedRef(dir)) !== `refs/heads/${branch}`) continue;
    throw landRefused(
      `A rebase of ${branch} is in progress.`,
      'Run `git rebase --continue` or `git rebase --abort`, then `halo land`.',
    );
  }
}

async function moveRef(gitDir: string, { ref, from, to }: { ref: string; from: string; to: string }): Promise<void> {
  const args = ['update-ref', '--no-deref', '-m', 'halo land: fast-forward', ref, to, from];
  const moved = await tryGit(args, { gitDir, env: HALO_IDENTITY, durable: true });
  if (moved.exitCode === 0) return;
  throw landRefused(`${ref} could not be moved: ${reasonOf(moved) ?? 'git gave no reason'}`, 'Try again.');
}

interface MergeIn {
  from: string;
  to: string;
  name: string;
  except: readonly string[];
}

/** Merges in the user's checkout with their configuration (line endings, LFS), but without hooks and programs of the repository. */
async function mergeIntoCheckout(path: string, { from, to, name, except }: MergeIn): Promise<void> {
  const { settings, filters } = await replaceLocalPrograms({ cwd: path });
  const at = { cwd: path, trust: 'operator' as const, settings };
  const unfinished = await findUnfinishedOperation(await gitDirAt(path));
  if (unfinished !== undefined)
    throw landRefused(`${path} is in the middle of ${unfinished}.`, 'Finish or abort it, then run `halo land`.');
  const status = ['status', '--porcelain=v1', '-z', '--no-renames', '--untracked-files=no', '--ignore-submodules=all'];
  const not = except.map((file) => `:(top,exclude,literal)${file}`);
  const entries = splitNul((await git([...status, '--', ':(top)', ...not], at)).stdout);
  const converted = await findConverted(path, entries);
  const dirty = entries.filter((entry) => !converted.has(entry.slice(3)));
  if (dirty.length > 0) {
    const some = dirty.slice(0, 3).map((entry) => entry.slice(3));
    throw landRefused(
      `${path} has uncommitted changes: ${some.join(', ')}${dirty.length > 3 ? ` and ${dirty.length - 3} more` : ''}.`,
      `Stash them, then run \`halo land\`. If you commit them, merge by hand: git merge ${name}`,
    );
  }
  const needed = await filtersBetween(path, { from, to, filters });
  if (needed.length > 0) {
    throw landRefused(
      `Files of ${name} may need the filter ${needed.slice(0, 3).join(', ')}, which the git configuration of ${path} names: halo runs no program named there.`,
      `If you trust it, merge by hand: git merge --ff-only ${name}`,
    );
  }
  // Ignored files belong to the user as well, for example local settings.
  const merge = ['merge', '--ff-only', '--no-overwrite-ignore', '--quiet', '--no-autostash', '--no-stat', to];
  const merged = await tryGit(merge, { ...at, durable: true });
  if (merged.exitCode === 0) return;
  const inTheWay = [...merged.stderr.matchAll(/^\t(.+)$/gm)].map((match) => match[1] ?? '');
  if (inTheWay.some((file) => converted.has(file))) {
    throw landRefused(
      `Files in ${path} would be overwritten: ${inTheWay.slice(0, 3).join(', ')}.`,
      `In ${path}, ${RENORMALIZE}; then merge by hand: git merge ${name}`,
    );
  }
  if (inTheWay.length > 0) {
    throw landRefused(
      `Files in ${path} would be overwritten: ${inTheWay.slice(0, 3).join(', ')}.`,
      'Move them away, then run `halo land`. If a `halo land` was killed here before, it has written them.',
    );
  }
  const lock = /Unable to create '(.+\/index\.lock)': File exists/.exec(merged.stderr)?.[1];
  if (lock !== undefined) {
    throw landRefused(
      `${path} is locked by git: ${lock} exists.`,
      `Wait for the git process there. If there is none, a command such as \`halo land\` was killed: run \`rm ${shellQuote(lock)}\`, move away files that \`git status\` lists as untracked and ${name} has, then run \`halo land\` (docs/reliability.md, "When the power fails").`,
    );
  }
  throw landRefused(
    `git merge --ff-only failed in ${path}: ${reasonOf(merged) ?? 'no reason given'}`,
    'Fix this, then run `halo land`.',
  );
}

interface PushRequest {
  mirrorDir: string;
  url: string;
  /** Short name of the branch in the remote repository. */
  branch: string;
  commit: string;
  /** What the user can do if the push is rejected, as a sentence. */
  alternative: string;
}

/** Creates or fast-forwards a branch of a remote repository, as the operator. Throws LAND_REFUSED. */
export async function pushFastForward({
  mirrorDir,
  url,
  branch,
  commit,
  alternative: otherwise,
}: PushRequest): Promise<void> {
  assertObjectId(commit, 'The commit to land');
  const remote = callRemote(url);
  const args = [
    ...remote.args,
    'push',
    '--quiet',
    '--no-follow-tags',
    '--recurse-submodules=no',
    '--',
    url,
    `${commit}:refs/heads/${branch}`,
  ];
  const pushed = await tryGit(args, { gitDir: mirrorDir, ...remote.options });
  if (pushed.exitCode === 0) return;
  const moved = /non-fast-forward|fetch first|\[rejected\]/.test(pushed.stderr);
  if (moved)
    throw landRefused(
      `The branch ${branch} at ${url} has commits that this run does not have.`,
      `Submit the PRD again to start from them. ${otherwise}`,
    );
  throw landRefused(
    `Cannot push to ${branch} at ${url}: ${reasonOf(pushed) ?? 'git gave no reason'}`,
    `${findLoginHint(pushed.stderr) ?? 'Check that you may push there.'} ${otherwise}`,
  );
}

function landRefused(message: string, hint: string): HaloError {
  return new HaloError('LAND_REFUSED', message, { hint });
}

interface BranchRequest {
  root: string;
  gitDir: string;
  /** Short name of the branch. */
  branch: string;
  commit: string;
}

/** Creates a branch at a commit, or fast-forwards it. Throws LAND_REFUSED if it has other commits. */
export async function createBranch({ root, gitDir, branch, commit }: BranchRequest): Promise<void> {
  const ref = `refs/heads/${branch}`;
  if ((await readRef(gitDir, ref)) !== undefined) {
    await fastForward({ root, gitDir, branch, to: commit });
    return;
  }
  const args = ['update-ref', '--no-deref', '-m', 'halo: task completed', ref, commit, zeroId(commit)];
  await git(args, { gitDir, env: HALO_IDENTITY, durable: true });
  await syncRef(gitDir, ref);
}
