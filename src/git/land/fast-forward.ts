import { join } from 'node:path';
import { readdir } from 'node:fs/promises';
import { HaloError } from '../../core/failure/errors.ts';
import { syncCheckout, syncRef } from '../repository/sync-repository.ts';
import { git, lastWords, tryGit } from '../process/git.ts';
import { readRef } from './land-commit.ts';
import { filtersBetween, replaceLocalPrograms } from '../repository/local-programs.ts';
import { assertObjectId } from '../process/object-id.ts';
import { asksForLogin, remoteOptions } from '../process/remote-access.ts';
import { isAncestor } from '../repository/unmerged-runs.ts';
import { listWorktrees, rebasedRef, unfinishedWork } from '../repository/worktrees.ts';

export interface FastForwardRequest {
  /** The user's checkout, or the bare repository. */
  root: string;
  /** The common git directory. */
  gitDir: string;
  /** Short name; undefined when HEAD is detached: always refused. */
  branch: string | undefined;
  /** When given, the branch must still be there. */
  from?: string;
  to: string;
  /** Files and folders, relative to the top, that may have changes; git still refuses to overwrite them. */
  except?: readonly string[];
  /** How people call `to`, for messages: `halo/<runId>`. Default the commit id. */
  name?: string;
}

export interface FastForwarded {
  branch: string;
  from: string;
  to: string;
}

/**
 * Moves a branch forward to `to`, and the checkout that has it with it; never merges, never overwrites.
 * A branch that contains `to` already is left alone. Throws LAND_REFUSED with the reason and the way out.
 */
export async function fastForward(request: FastForwardRequest): Promise<FastForwarded> {
  const { root, gitDir, branch, to } = request;
  const name = request.name ?? to;
  assertObjectId(to, 'The commit to land');
  if (branch === undefined) {
    throw refusal(
      `${root} has no branch checked out (detached HEAD).`,
      `Run: git switch <branch> && git merge --ff-only ${name}`,
    );
  }
  const ref = `refs/heads/${branch}`;
  const tip = await readRef(gitDir, ref);
  if (tip === undefined)
    throw refusal(`The branch ${branch} does not exist in ${gitDir}.`, 'Name a branch that exists.');
  if (tip === to || (await isAncestor(gitDir, to, tip))) return { branch, from: tip, to: tip };
  if ((request.from !== undefined && request.from !== tip) || !(await isAncestor(gitDir, tip, to))) {
    throw refusal(
      `The branch ${branch} has commits that ${name} does not have.`,
      `Merge or rebase by hand: git merge ${name}`,
    );
  }
  await refuseWhileRebasing(gitDir, branch);
  const checkout = (await listWorktrees(gitDir)).find((worktree) => worktree.branch === ref);
  if (checkout === undefined) await moveRef(gitDir, { ref, from: tip, to });
  else {
    await mergeInto(checkout.path, { from: tip, to, name, except: request.except ?? [] });
    await syncCheckout(checkout.path, { gitDir, from: tip, to });
  }
  await syncRef(gitDir, ref);
  return { branch, from: tip, to };
}

/** A rebase detaches HEAD, but moves its branch at the end: it would undo what is landed now. */
async function refuseWhileRebasing(gitDir: string, branch: string): Promise<void> {
  const linked = await readdir(join(gitDir, 'worktrees')).catch(() => []);
  for (const dir of [gitDir, ...linked.map((name) => join(gitDir, 'worktrees', name))]) {
    if ((await rebasedRef(dir)) !== `refs/heads/${branch}`) continue;
    throw refusal(
      `A rebase of ${branch} is under way.`,
      'Finish it (git rebase --continue) or give it up (--abort), then land.',
    );
  }
}

async function moveRef(gitDir: string, { ref, from, to }: { ref: string; from: string; to: string }): Promise<void> {
  const args = ['update-ref', '--no-deref', '-m', 'halo land: fast-forward', ref, to, from];
  const env = { GIT_COMMITTER_NAME: 'halo', GIT_COMMITTER_EMAIL: 'halo@localhost' };
  const moved = await tryGit(args, { gitDir, env, durable: true });
  if (moved.exitCode === 0) return;
  throw refusal(`${ref} could not be moved: ${lastWords(moved.stderr) ?? 'git gave no reason'}`, 'Try again.');
}

interface MergeIn {
  from: string;
  to: string;
  name: string;
  except: readonly string[];
}

/** In the user's own checkout, with their config (line endings, LFS), but without hooks and programs of the repository's. */
async function mergeInto(path: string, { from, to, name, except }: MergeIn): Promise<void> {
  const { settings, filters } = await replaceLocalPrograms({ cwd: path });
  const at = { cwd: path, trust: 'operator' as const, settings };
  const unfinished = await unfinishedWork(path);
  if (unfinished !== undefined)
    throw refusal(`${path} is in the middle of ${unfinished}.`, 'Finish it or abort it, then land.');
  const status = ['status', '--porcelain=v1', '-z', '--no-renames', '--untracked-files=no', '--ignore-submodules=all'];
  const not = except.map((file) => `:(top,exclude,literal)${file}`);
  const dirty = (await git([...status, '--', ':(top)', ...not], at)).stdout
    .toString('utf8')
    .split('\0')
    .filter((entry) => entry !== '');
  if (dirty.length > 0) {
    const some = dirty.slice(0, 3).map((entry) => entry.slice(3));
    throw refusal(
      `${path} has uncommitted changes: ${some.join(', ')}${dirty.length > 3 ? ` and ${dirty.length - 3} more` : ''}.`,
      'Commit or stash them, then land.',
    );
  }
  const needed = await filtersBetween(path, { from, to, filters });
  if (needed.length > 0) {
    throw refusal(
      `Files of ${name} may need the filter ${needed.slice(0, 3).join(', ')}, which the git configuration of ${path} names: halo starts no program from there.`,
      `If you trust it, merge by hand: git merge --ff-only ${name}`,
    );
  }
  // What git ignores is the user's as well, such as local settings.
  const merge = ['merge', '--ff-only', '--no-overwrite-ignore', '--quiet', '--no-autostash', '--no-stat', to];
  const merged = await tryGit(merge, { ...at, durable: true });
  if (merged.exitCode === 0) return;
  const inTheWay = [...merged.stderr.matchAll(/^\t(.+)$/gm)].map((match) => match[1] ?? '');
  if (inTheWay.length > 0) {
    throw refusal(
      `Files in ${path} would be overwritten: ${inTheWay.slice(0, 3).join(', ')}.`,
      'Move them away, then land.',
    );
  }
  throw refusal(
    `git merge --ff-only failed in ${path}: ${lastWords(merged.stderr) ?? 'no reason given'}`,
    'Mend that, then land.',
  );
}

export interface PushRequest {
  mirrorDir: string;
  url: string;
  /** Short name of the branch at the other side. */
  branch: string;
  commit: string;
  /** What a person can do where it is refused, a sentence. */
  otherwise: string;
}

/** Makes a branch of a repository behind an address, or moves it forward, as the operator. Throws LAND_REFUSED. */
export async function pushFastForward({ mirrorDir, url, branch, commit, otherwise }: PushRequest): Promise<void> {
  assertObjectId(commit, 'The commit to land');
  const args = [
    'push',
    '--quiet',
    '--no-follow-tags',
    '--recurse-submodules=no',
    '--',
    url,
    `${commit}:refs/heads/${branch}`,
  ];
  const pushed = await tryGit(args, { gitDir: mirrorDir, ...remoteOptions() });
  if (pushed.exitCode === 0) return;
  const moved = /non-fast-forward|fetch first|\[rejected\]/.test(pushed.stderr);
  if (moved)
    throw refusal(
      `The branch ${branch} at ${url} has commits that this run does not have.`,
      `Submit the PRD again to start from them. ${otherwise}`,
    );
  throw refusal(
    `Cannot push to ${branch} at ${url}: ${lastWords(pushed.stderr) ?? 'git gave no reason'}`,
    `${asksForLogin(pushed.stderr) ?? 'Check that you may push there.'} ${otherwise}`,
  );
}

function refusal(message: string, hint: string): HaloError {
  return new HaloError('LAND_REFUSED', message, { hint });
}
